"""POST /api/v1/select as a chat backend uses it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.models import Space
from catalog.models import Capability
from discovery.answer.formats.registry import FORMATS
from discovery.models import Turn
from tests.access.people import People
from tests.sessions import session_of
from tests.web.conftest import client_with, new_key

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
URL = "/api/v1/select"
MAIL = {"message": "send an email with gmail__send_email", "user": "alice"}


def post(client: Client, body: object) -> dict[str, Any]:
    response = client.post(URL, body, content_type="application/json")
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def names(answer: dict[str, Any]) -> list[str]:
    return [item["full_name"] for item in answer["selected"]]


def test_fitting_tool_comes_with_score_reasons_and_schema(key: str, people: People) -> None:
    Capability.objects.filter(pk=people.send.pk).update(input_schema=SCHEMA)

    answer = post(client_with(key), MAIL)

    first = answer["selected"][0]
    assert first["full_name"] == "gmail__send_email"
    assert 0 < first["score"] <= 1
    assert first["reasons"]
    assert first["input_schema"] == SCHEMA
    assert first["access"] == "runs"


def test_answer_has_every_field_of_the_interface(key: str) -> None:
    answer = post(client_with(key), MAIL)

    assert set(answer) == {
        "selected", "core_included", "excluded_count", "reason", "discovery_suggested", "direct",
        "degraded", "degraded_because", "turn_id", "tokens", "prompt", "tools", "timings",
        "renamed", "mode", "fit",
    }  # fmt: skip
    assert set(answer["tokens"]) == {"all", "selected", "saved", "injected"}
    assert {"rendering", "total"} <= set(answer["timings"])


def test_whole_request_takes_at_most_four_statements(key: str) -> None:
    client = client_with(key)
    post(client, MAIL)

    with CaptureQueriesContext(connection) as statements:
        post(client, MAIL)

    assert len(statements) <= 4, statements.captured_queries


def test_first_use_of_a_key_takes_no_statement_more(key: str) -> None:
    about_keys: list[str] = []

    def note(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        about_keys.extend([sql] if "acl_apikey" in sql else [])
        return execute(sql, *rest)

    with connection.execute_wrapper(note):
        post(client_with(key), MAIL)

    assert len(about_keys) == 1


def test_turn_is_stored_for_the_caller(key: str, people: People) -> None:
    answer = post(client_with(key), MAIL)

    turn = Turn.objects.get(pk=answer["turn_id"])
    assert (turn.user, turn.group) == (people.alice, people.support)
    assert turn.message == ""


def test_other_groups_tool_is_neither_selected_nor_counted(key: str) -> None:
    answer = post(client_with(key), MAIL)

    assert "payroll__pay" not in names(answer)
    assert len(answer["selected"]) + answer["excluded_count"] == 3


def test_charlie_gets_only_what_finance_has(people: People) -> None:
    client = client_with(new_key(people.finance))

    answer = post(client, {"message": "payroll__pay, gmail__send_email", "user": "charlie"})

    assert names(answer) == ["payroll__pay"]


def test_space_of_the_group_can_be_named(key: str, people: People) -> None:
    answer = post(client_with(key), {**MAIL, "space": "root", "group": "support"})

    space = Turn.objects.get(pk=answer["turn_id"]).space
    assert space == Space.objects.get(group=people.support)


@pytest.mark.parametrize("provider", FORMATS)
def test_tools_are_written_for_each_provider(key: str, provider: str) -> None:
    answer = post(client_with(key), {**MAIL, "format": provider})

    assert "gmail__send_email" in str(answer["tools"])


def test_tools_are_left_out_where_nobody_wants_them(key: str) -> None:
    assert post(client_with(key), {**MAIL, "format": "none"})["tools"] is None


def test_detail_decides_how_much_is_said_of_each(key: str) -> None:
    answer = post(client_with(key), {**MAIL, "detail": "name_only"})

    assert "input_schema" not in answer["selected"][0]
    assert "description" not in answer["selected"][0]


def test_person_asks_by_web_session_for_themselves(people: People) -> None:
    client = session_of(people.bob)

    answer = post(client, {"message": "send an email"})

    assert Turn.objects.get(pk=answer["turn_id"]).user == people.bob


def test_answer_without_a_model_is_degraded_and_says_so(key: str) -> None:
    answer = post(client_with(key), MAIL)

    assert answer["degraded"] is True
    assert answer["degraded_because"]


@pytest.mark.parametrize("message", ["", "  \n", "🌦", "x" * 8_001, "天" * 100_000, "a " * 400_000])
@pytest.mark.parametrize("path", [URL, "/api/v1/discover", "/api/v1/plan"])
def test_message_of_any_length_is_answered(key: str, path: str, message: str) -> None:
    body = {"message": message, "user": "alice"}

    response = client_with(key).post(path, body, content_type="application/json")

    assert response.status_code == 200, response.content[:500]


def test_request_before_or_after_a_long_text_is_found(key: str) -> None:
    pasted = "Minutes of the meeting, taken by hand. " * 2_000

    for message in (f"{MAIL['message']}\n\n{pasted}", f"{pasted}\n\n{MAIL['message']}"):
        assert names(post(client_with(key), MAIL | {"message": message}))[0] == "gmail__send_email"


def test_picture_alone_goes_on_with_the_message_before(key: str) -> None:
    client, picture = client_with(key), {**MAIL, "message": ""}

    alone = post(client, picture)
    after = post(client, picture | {"history": [MAIL["message"]]})

    assert "gmail__send_email" not in names(alone)
    assert alone["fit"] == "small_talk"
    assert names(after)[0] == "gmail__send_email"
