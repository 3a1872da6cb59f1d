"""API keys: shown once, stored as a digest, refused once revoked, and without a trace anywhere."""

import json
import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO
from typing import Any
from unittest.mock import patch

import pytest
import time_machine
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection
from django.db.models.functions import Now
from django.test import Client, RequestFactory
from django.utils import timezone
from django.views.debug import ExceptionReporter
from pytest_django.fixtures import Settings

from acl.audit.recorder import record
from acl.keys.lifecycle import KeyRefused, create_key, holder_of, revoke_key, rotate_key
from acl.models import ApiKey, AuditEntry
from acl.web.authentication import KeyAuthentication
from tests.access.people import People
from tests.databases import as_superuser
from tests.sessions import session_of
from tests.web.conftest import client_with, new_key

SELECT = "/api/v1/select"
KEYS = "/api/v1/keys"
BODY = {"message": "hi", "user": "alice"}


def status(raw: str, url: str = SELECT) -> int:
    return client_with(raw).post(url, BODY, content_type="application/json").status_code


def the_key() -> ApiKey:
    return ApiKey.objects.get()


def test_only_a_digest_of_the_key_is_stored(people: People) -> None:
    raw = new_key(people.support)

    stored = str(ApiKey.objects.values().get())
    assert raw.startswith("pb_")
    assert len(raw) >= 3 + 43
    assert raw not in stored
    assert the_key().prefix == raw[:11]


def test_valid_key_is_let_in_and_its_use_is_noted(people: People) -> None:
    raw = new_key(people.support)

    assert status(raw) == 200
    assert the_key().last_used_at is not None


def test_use_is_noted_once_a_minute(people: People) -> None:
    raw = new_key(people.support)
    holder_of(raw)
    first = the_key().last_used_at

    holder_of(raw)
    assert the_key().last_used_at == first

    ApiKey.objects.update(last_used_at=Now() - timedelta(minutes=2))
    holder_of(raw)
    assert ApiKey.objects.filter(last_used_at__gt=Now() - timedelta(minutes=1)).exists()


def test_revoked_key_is_refused_on_the_very_next_request(people: People) -> None:
    raw = new_key(people.support)
    assert status(raw) == 200

    revoke_key(by=None, key=the_key())

    assert status(raw) == 401


def test_expired_key_is_refused_by_the_databases_clock(people: People) -> None:
    raw = new_key(people.support)
    # The statement compares with the start of the transaction, which is the test's.
    ApiKey.objects.update(expires_at=Now() - timedelta(minutes=30))

    with time_machine.travel(timezone.now() - timedelta(hours=1)):
        assert status(raw) == 401


def test_key_of_an_inactive_owner_is_refused(people: People) -> None:
    raw = new_key(people.support, owner=people.bob)

    User.objects.filter(pk=people.bob.pk).update(is_active=False)

    assert status(raw) == 401


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer pb_unknown", "Bearer a b", "Bearer \x80", "Basic YTpi", ""]
)
@pytest.mark.django_db
def test_without_a_valid_key_the_answer_says_how_to_sign_in(header: str) -> None:
    response = Client(headers={"Authorization": header}).post(SELECT, BODY, "application/json")

    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")


def test_select_key_may_not_manage_keys(people: People) -> None:
    assert client_with(new_key(people.support)).get(KEYS).status_code == 403


def test_person_who_is_not_staff_may_not_manage_keys(people: People) -> None:
    client = session_of(people.alice)

    assert client.get(KEYS).status_code == 403


def test_rotated_key_goes_on_during_the_overlap(people: People) -> None:
    old = new_key(people.support)

    successor, new = rotate_key(by=None, key=the_key(), overlap=timedelta(hours=1))

    assert (status(old), status(new)) == (200, 200)
    ApiKey.objects.exclude(pk=successor.pk).update(expires_at=Now() - timedelta(minutes=30))
    assert (status(old), status(new)) == (401, 200)


def test_rotation_does_not_lengthen_an_old_keys_life(people: People) -> None:
    new_key(people.support)
    soon = timezone.now() + timedelta(minutes=5)
    ApiKey.objects.update(expires_at=soon)
    key = the_key()

    rotate_key(by=None, key=key, overlap=timedelta(days=1))

    key.refresh_from_db()
    assert key.expires_at == soon


def test_every_change_is_in_the_audit_log(people: People) -> None:
    User.objects.filter(pk=people.alice.pk).update(is_staff=True)
    key, raw = create_key(
        by=people.alice, name="chat", group=people.support, scopes=["select"], owner=people.alice
    )
    rotate_key(by=people.alice, key=key)
    revoke_key(by=people.alice, key=key)

    entries = AuditEntry.objects.filter(by=people.alice)
    assert {entry.action for entry in entries} == {"key.created", "key.rotated", "key.revoked"}
    assert raw not in str(list(entries.values()))


@pytest.mark.parametrize("scopes", [[], ["everything"]])
def test_key_without_a_known_scope_is_not_made(people: People, scopes: list[str]) -> None:
    with pytest.raises(KeyRefused):
        create_key(by=None, name="x", group=people.support, scopes=scopes, acts_for_users=True)


def test_key_that_acts_for_nobody_is_not_made(people: People) -> None:
    with pytest.raises(KeyRefused):
        create_key(by=None, name="x", group=people.support, scopes=["select"])


def test_key_is_in_no_log_line(people: People, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    raw = new_key(people.support)

    status(raw)
    status(raw + "x")
    client_with(raw).get("/api/v1/nothing")

    assert "request" in caplog.text
    assert raw not in caplog.text


def test_admin_pages_show_neither_key_nor_digest(people: People) -> None:
    raw = new_key(people.support)
    client = session_of(User.objects.create_superuser("root"))
    pages = ("/admin/acl/apikey/", f"/admin/acl/apikey/{the_key().pk}/change/")

    shown = [client.get(page) for page in pages]

    assert [page.status_code for page in shown] == [200, 200]
    for page in shown:
        assert raw[:11] in page.content.decode()
        assert raw not in page.content.decode()
        assert the_key().digest not in page.content.decode()


def test_command_prints_the_key_once(people: People) -> None:
    out = StringIO()

    call_command(
        "create_api_key", "--group=support", "--scope=select", "--acts-for-users", "--json",
        stdout=out,
    )  # fmt: skip

    told = json.loads(out.getvalue())
    assert status(told["key"]) == 200
    assert told["scopes"] == ["select"]


def test_command_says_that_the_group_is_unknown(people: People) -> None:
    with pytest.raises(CommandError, match="Group"):
        call_command("create_api_key", "--group=nobody", "--scope=admin")


def test_admin_key_makes_rotates_and_revokes_keys_of_its_group(people: People) -> None:
    client = client_with(new_key(people.support, "admin", "select", acts_for_users=True))
    wanted = {"name": "chat", "group": "support", "scopes": ["select"], "acts_for_users": True}

    made = client.post(KEYS, wanted, content_type="application/json")
    rotated = client.post(f"{KEYS}/{made.json()['id']}/rotate", content_type="application/json")
    revoked = client.delete(f"{KEYS}/{made.json()['id']}")

    assert (made.status_code, rotated.status_code, revoked.status_code) == (201, 201, 204)
    assert (status(made.json()["key"]), status(rotated.json()["key"])) == (401, 200)


def test_admin_key_sees_the_keys_of_its_group_only_and_never_their_text(
    people: People,
) -> None:
    raw = new_key(people.support, "admin")
    foreign = new_key(people.finance)

    listed = client_with(raw).get(KEYS)

    assert [key["group"] for key in listed.json()] == ["support"]
    assert raw not in listed.content.decode()
    assert foreign[:11] not in listed.content.decode()


def test_admin_key_cannot_make_a_key_for_another_group(people: People) -> None:
    client = client_with(new_key(people.support, "admin"))

    answers = {
        client.post(
            KEYS, {"name": "x", "group": group, "scopes": ["admin"]}, "application/json"
        ).content
        for group in ("finance", "no such group")
    }

    assert len(answers) == 1
    assert b"403" in answers.pop()


def test_overlap_of_a_rotation_can_be_chosen(people: People) -> None:
    raw = new_key(people.support, "admin", "select", "discover", acts_for_users=True)
    client = client_with(raw)
    new_key(people.support)
    old = ApiKey.objects.exclude(scopes__contains=["admin"]).get()
    path = f"{KEYS}/{old.pk}/rotate"

    wrong = [
        client.post(path, {"overlap_minutes": wrong}, "application/json").status_code
        for wrong in (-1, 43_201, "5", None)
    ]
    assert client.post(path, {"overlap_minutes": 5}, "application/json").status_code == 201

    assert wrong == [400] * 4
    soon = ApiKey.objects.filter(pk=old.pk, expires_at__lt=Now() + timedelta(minutes=6))
    assert soon.exists()


def test_successor_can_last_as_long_as_is_said(people: People) -> None:
    new_key(people.support)
    ApiKey.objects.update(expires_at=Now() + timedelta(days=1))

    successor, _ = rotate_key(by=None, key=the_key(), lifetime=timedelta(days=90))

    assert successor.expires_at
    assert successor.expires_at > timezone.now() + timedelta(days=89)


def test_key_that_is_revoked_behind_our_back_is_refused_as_well(people: People) -> None:
    """The validity of keys is never cached."""
    raw = new_key(people.support)
    client = client_with(raw)
    client.post(SELECT, BODY, content_type="application/json")

    with connection.cursor() as cursor:  # revoked directly in the database
        cursor.execute("UPDATE acl_apikey SET revoked_at = now()")

    assert client.post(SELECT, BODY, content_type="application/json").status_code == 401


@pytest.fixture
def life_of_a_key(people: People) -> list[str]:
    """Make, use, replace and revoke keys; return their secrets."""
    key, first = create_key(
        by=None, name="chat", group=people.support, scopes=["select", "admin"],
        owner=people.alice, acts_for_users=True,
    )  # fmt: skip
    client_with(first).post(SELECT, BODY, "application/json")
    _, second = rotate_key(by=None, key=key)
    made = client_with(second).post(
        "/api/v1/keys", {"name": "x", "group": "support", "scopes": ["admin"]}, "application/json"
    )
    client_with(first).post(f"/api/v1/keys/{key.pk}/rotate")
    revoke_key(by=people.alice, key=key)
    return [first, second, made.json()["key"]]


def dump() -> str:
    """Return all rows of all tables by pg_dump."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        return "".join(part for table in tables for part in copy_of(table))


def copy_of(table: str) -> Iterator[str]:
    with (
        connection.cursor() as cursor,
        cursor.copy(f'COPY "{table}" TO STDOUT') as rows,
    ):
        for row in rows:
            yield bytes(row).decode()


def secret_part(raw: str) -> str:
    """Return the secret after the visible prefix."""
    return raw[11:]


def test_no_key_is_in_a_dump_of_the_database(life_of_a_key: list[str]) -> None:
    everything = dump()

    assert life_of_a_key[0][:11] in everything  # the dump contains the row
    for raw in life_of_a_key:
        assert secret_part(raw) not in everything


def test_no_key_is_in_a_log_line(
    people: People, caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest
) -> None:
    caplog.set_level(logging.DEBUG)

    keys = request.getfixturevalue("life_of_a_key")

    assert "request" in caplog.text
    for raw in keys:
        assert secret_part(raw) not in caplog.text


def test_no_key_is_on_a_page_of_an_admin(life_of_a_key: list[str]) -> None:
    client = session_of(User.objects.create_superuser("root"))
    paths = ["/admin/acl/apikey/", "/admin/acl/auditentry/", "/admin/", "/keys/", "/audit/"]
    paths += [f"/admin/acl/apikey/{key.pk}/change/" for key in ApiKey.objects.all()]
    paths += [f"/admin/acl/apikey/{key.pk}/history/" for key in ApiKey.objects.all()]

    for path in paths:
        response = client.get(path)
        assert response.status_code == 200, path
        for raw in life_of_a_key:
            assert secret_part(raw) not in response.content.decode(), path


@pytest.mark.parametrize("debug", [False, True])
def test_no_key_is_on_an_error_page(
    life_of_a_key: list[str], settings: Settings, debug: bool
) -> None:
    settings.DEBUG = debug
    raw = life_of_a_key[1]
    client = client_with(raw)
    client.raise_request_exception = False

    with patch(
        "discovery.turns.select_serializers.select_for_turn", side_effect=ValueError("cause")
    ):
        response = client.post(SELECT, BODY, content_type="application/json")

    assert response.status_code == 500
    assert secret_part(raw) not in response.content.decode()


@pytest.mark.django_db
def test_no_key_is_in_the_report_of_an_error_while_it_is_looked_up(settings: Settings) -> None:
    settings.DEBUG = False
    raw = "pb_" + "s3cr3t" * 7
    request = RequestFactory(headers={"Authorization": f"Bearer {raw}"}).get("/")

    as_superuser("ALTER TABLE acl_apikey RENAME TO acl_gone")
    report = report_of(request)

    assert "holder_of" in report
    assert secret_part(raw) not in report


def report_of(request: object) -> str:
    """Return the error report that Django would mail."""
    from rest_framework.request import Request  # imported here since it needs the settings

    try:
        KeyAuthentication().authenticate(Request(request))  # type: ignore[arg-type]
    except DatabaseError as error:
        reporter = ExceptionReporter(request, type(error), error, error.__traceback__)  # type: ignore[arg-type]
        return reporter.get_traceback_html() + reporter.get_traceback_text()
    raise AssertionError("nothing went wrong")


@pytest.mark.parametrize("path", ["/api/v1/keys", "/api/v1/nothing", SELECT])
@pytest.mark.django_db
def test_no_answer_repeats_a_wrong_key(path: str) -> None:
    raw = "pb_" + "s3cr3t" * 7

    response = client_with(raw).get(path)

    assert "s3cr3t" not in response.content.decode() + str(response.headers)


def test_each_scope_opens_its_own_calls_only(people: People) -> None:
    calls: dict[str, Callable[[Client], Any]] = {
        "select": lambda client: client.post(SELECT, BODY, "application/json"),
        "admin": lambda client: client.get("/api/v1/keys"),
    }
    keys = {
        scope: create_key(
            by=None, name=scope, group=people.support, scopes=[scope], acts_for_users=True
        )[1]
        for scope in (*calls, "discover", "execute")
    }

    for holder, raw in keys.items():
        for scope, call in calls.items():
            expected = 200 if holder == scope else 403
            assert call(client_with(raw)).status_code == expected, (holder, scope)


def test_recorded_key_is_only_its_first_characters(people: People) -> None:
    key, raw = create_key(
        by=None, name="chat", group=people.support, scopes=["admin"], acts_for_users=True
    )

    entry = record(by=None, action="x", target=str(key))

    assert raw[:11] in entry.target
    assert len(raw) - 11 >= 35  # the number of characters left to guess
