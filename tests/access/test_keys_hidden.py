"""Key secrets leave no trace in the database, logs, pages or errors."""

import logging
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection
from django.test import Client, RequestFactory
from django.views.debug import ExceptionReporter
from pytest_django.fixtures import Settings

from acl.audit.recorder import record
from acl.keys.lifecycle import create_key, revoke_key, rotate_key
from acl.models import ApiKey
from acl.web.authentication import KeyAuthentication
from tests.access.people import People
from tests.databases import as_superuser
from tests.web.conftest import client_with

SELECT = "/api/v1/select"
BODY = {"message": "hi", "user": "alice"}
PLAIN_FILES = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}


@pytest.fixture(autouse=True)
def _plain_files(settings: Settings) -> None:
    settings.STORAGES = {**settings.STORAGES, "staticfiles": PLAIN_FILES}


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
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
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
