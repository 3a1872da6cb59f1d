"""Errors are problem details; callers that a request may act for."""

from typing import Any
from unittest.mock import patch

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from acl.models import ApiKey, Space
from discovery.models import Turn
from tests.access.people import People
from tests.sessions import session_of
from tests.web.conftest import client_with, new_key

URL = "/api/v1/select"
MAIL = {"message": "send an email", "user": "alice"}


def problem_of(response: Any) -> dict[str, Any]:
    assert response["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert {"type", "title", "status", "detail", "request_id"} <= set(body)
    assert body["status"] == response.status_code
    return body


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"message": None}, "message"),
        ({"message": 5}, "message"),
        ({"max_tools": 0}, "max_tools"),
        ({"max_tools": 51}, "max_tools"),
        ({"max_tools": "5"}, "max_tools"),
        ({"max_tools": True}, "max_tools"),
        ({"kind": "hammer"}, "kind"),
        ({"format": "xml"}, "format"),
        ({"detail": "everything"}, "detail"),
        ({"explain": "yes"}, "explain"),
        ({"history": "not a list"}, "history"),
        ({"history": ["x"] * 21}, "history"),
        ({"history": ["fine", 7]}, "history.1"),
        ({"max_tool": 5}, "max_tool"),
    ],
)
def test_wrong_field_is_named(key: str, change: dict[str, Any], field: str) -> None:
    response = client_with(key).post(URL, {**MAIL, **change}, content_type="application/json")

    problem = problem_of(response)
    assert response.status_code == 400
    assert problem["field"] == field
    assert problem["errors"][0]["reason"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b'{"message": NaN}',
        b'{"message": "a\\u0000b", "user": "alice"}',
        b'{"message": "\\ud800", "user": "alice"}',
        b'{"history": ' + b"[" * 40 + b"]" * 40 + b"}",
        b"[" * 100_000,
        b'{"max_tools": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda body: repr(body[:24]),
)
def test_body_that_cannot_be_read_is_a_problem(key: str, body: bytes) -> None:
    response = client_with(key).post(URL, body, content_type="application/json")

    assert response.status_code == 400
    problem_of(response)


def test_body_that_is_too_large_is_refused(key: str, settings: Settings) -> None:
    settings.PEGBOARD_MAX_BODY_BYTES = 10_000

    response = client_with(key).post(URL, b" " * 10_001, content_type="application/json")

    assert response.status_code == 413
    problem_of(response)


def test_body_of_unknown_length_is_refused(key: str) -> None:
    client = client_with(key)

    response = client.post(URL, MAIL, "application/json", headers={"Transfer-Encoding": "chunked"})

    assert response.status_code == 411
    problem_of(response)


def test_other_media_types_are_refused(key: str) -> None:
    response = client_with(key).post(URL, "message=hi", content_type="text/plain")

    assert response.status_code == 415
    problem_of(response)


def test_wrong_method_is_refused(key: str) -> None:
    response = client_with(key).get(URL)

    assert response.status_code == 405
    assert "POST" in response["Allow"]
    problem_of(response)


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/v1/select/more", "/api/v2/select"])
def test_unknown_call_is_a_problem_even_without_a_key(path: str) -> None:
    response = Client().get(path)

    assert response.status_code == 404
    problem_of(response)


def test_unknown_call_needs_no_csrf_token() -> None:
    response = Client(enforce_csrf_checks=True).post("/api/v1/nothing")

    assert response.status_code == 404
    problem_of(response)


def test_missing_database_is_told_as_a_passing_problem(key: str) -> None:
    with patch("acl.web.authentication.holder_of", side_effect=OperationalError("gone: /run/pg")):
        response = client_with(key).post(URL, MAIL, content_type="application/json")

    assert response.status_code == 503
    assert int(response["Retry-After"]) >= 1
    assert "/run/pg" not in str(problem_of(response))


def test_unexpected_failure_says_nothing_of_its_cause(key: str) -> None:
    client = client_with(key)
    client.raise_request_exception = False

    with patch(
        "discovery.turns.select_serializers.select_for_turn", side_effect=ValueError("secret cause")
    ):
        response = client.post(URL, MAIL, content_type="application/json")

    assert response.status_code == 500
    assert "secret cause" not in str(problem_of(response))


def test_request_id_is_in_header_and_body(key: str) -> None:
    client = Client(headers={"Authorization": f"Bearer {key}", "X-Request-ID": "from-the-proxy.1"})

    response = client.post(URL, {}, content_type="application/json")

    assert response["X-Request-ID"] == "from-the-proxy.1"
    assert problem_of(response)["request_id"] == "from-the-proxy.1"


def test_request_id_that_could_forge_a_log_line_is_replaced() -> None:
    response = Client(headers={"X-Request-ID": 'a"}\n{"event": "forged'}).get("/healthz")

    assert len(response["X-Request-ID"]) == 32


def test_foreign_key_id_and_unknown_key_id_are_told_alike(people: People) -> None:
    client = client_with(new_key(people.support, "admin"))
    new_key(people.finance)
    foreign = ApiKey.objects.get(groups=people.finance).pk

    answers = {
        (response.status_code, response.content)
        for response in (client.delete(f"/api/v1/keys/{pk}") for pk in (foreign, 987_654))
    }

    assert len(answers) == 1
    assert answers.pop()[0] == 404


UNLIKE = [
    {"user": "nobody-of-that-name"},
    {"user": "charlie"},
    {"user": "dora"},
    {"user": "alice", "group": "finance"},
    {"user": "alice", "group": "no such group"},
    {"user": "alice", "space": "no-such-space"},
    {"user": "alice", "space": "payments"},
]


def refusal(client: Client, body: dict[str, str]) -> tuple[int, bytes, int]:
    """Return status, body and number of statements."""
    with CaptureQueriesContext(connection) as statements:
        response = client.post(URL, {"message": "hi", **body}, content_type="application/json")
    return response.status_code, response.content, len(statements)


@pytest.fixture
def stranger(people: People) -> None:
    """dora, who was in support and is inactive; finance has a space."""
    dora = type(people.alice).objects.create_user("dora", is_active=False)
    dora.groups.add(people.support)
    root = Space.objects.get(group=people.finance)
    Space.objects.create(group=people.finance, parent=root, name="Payments", slug="payments")


@pytest.mark.usefixtures("stranger")
def test_all_unknown_and_foreign_names_are_refused_alike(key: str) -> None:
    client = client_with(key)

    answers = {refusal(client, body) for body in UNLIKE}

    assert len(answers) == 1
    assert answers.pop()[0] == 403


@pytest.mark.usefixtures("stranger")
def test_key_that_acts_for_its_owner_only_refuses_all_others_alike(people: People) -> None:
    client = client_with(new_key(people.support, owner=people.alice, acts_for_users=False))

    answers = {refusal(client, {"user": name}) for name in ("bob", "charlie", "dora", "nobody")}

    assert len(answers) == 1
    assert answers.pop()[0] == 403


def test_key_acts_for_its_owner_when_nobody_is_named(people: People) -> None:
    client = client_with(new_key(people.support, owner=people.alice, acts_for_users=False))

    response = client.post(URL, {"message": "hi"}, content_type="application/json")

    assert Turn.objects.get(pk=response.json()["turn_id"]).user == people.alice


def test_key_for_many_users_asks_for_the_user(key: str) -> None:
    response = client_with(key).post(URL, {"message": "hi"}, content_type="application/json")

    assert response.status_code == 400
    assert response.json()["field"] == "user"


def test_person_may_not_name_someone_else(people: People) -> None:
    client = session_of(people.alice)

    assert refusal(client, {"user": "bob"})[0] == 403


def test_staff_may_name_anyone(people: People) -> None:
    people.bob.is_staff = True
    people.bob.save()
    client = session_of(people.bob)

    response = client.post(
        URL, {"message": "hi", "user": "charlie"}, content_type="application/json"
    )

    assert Turn.objects.get(pk=response.json()["turn_id"]).group == people.finance


@pytest.mark.parametrize(
    ("chosen", "group"), [("support", "support"), ("a group left long ago", "finance")]
)
def test_person_works_in_the_group_they_chose_or_else_in_the_first_by_name(
    chosen: str, group: str, people: People
) -> None:
    people.alice.groups.add(people.finance)
    client = session_of(people.alice)
    session = client.session
    session["group"] = chosen
    session.save()

    response = client.post(URL, {"message": "hi"}, content_type="application/json")

    assert Turn.objects.get(pk=response.json()["turn_id"]).group == getattr(people, group)


def test_revoked_membership_holds_from_the_next_request_on(key: str, people: People) -> None:
    client = client_with(key)
    assert refusal(client, {"user": "alice"})[0] == 200

    people.alice.groups.clear()

    assert refusal(client, {"user": "alice"})[0] == 403
