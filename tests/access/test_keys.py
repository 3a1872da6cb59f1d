"""API keys: shown once, stored as a digest, refused as soon as they are revoked."""

import json
import logging
from datetime import timedelta
from io import StringIO

import pytest
import time_machine
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from acl.keys.lifecycle import KeyRefused, create_key, holder_of, revoke_key, rotate_key
from acl.models import ApiKey, AuditEntry
from tests.access.people import People
from tests.web.conftest import client_with, new_key

PLAIN_FILES = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
SELECT = "/api/v1/select"
KEYS = "/api/v1/keys"
BODY = {"message": "hi", "user": "alice"}


@pytest.fixture(autouse=True)
def _plain_files(settings: Settings) -> None:
    """Serve static files without hashed names, since they were not collected."""
    settings.STORAGES = {**settings.STORAGES, "staticfiles": PLAIN_FILES}


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


def test_key_without_the_scope_is_refused(people: People) -> None:
    raw = new_key(people.support, "discover", "admin")

    assert status(raw) == 403


def test_select_key_may_not_manage_keys(people: People) -> None:
    assert client_with(new_key(people.support)).get(KEYS).status_code == 403


def test_person_who_is_not_staff_may_not_manage_keys(people: People) -> None:
    client = Client()
    client.force_login(people.alice)

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
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
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
