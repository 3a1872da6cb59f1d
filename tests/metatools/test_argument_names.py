"""The arguments of a call have one name on every way, and their former name still works."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from discovery.metatools.registry import META_TOOLS
from tests.access.people import People
from tests.factories import CapabilityFactory, IntegrationFactory, give
from tests.web.conftest import client_with, new_key

JSON = "application/json"
MAIL, ACTION, TO_BOB = "gmail__mail", "mail", {"to": "bob"}
BY_SERVER = {"server_name": "gmail", "tool_name": ACTION}


def by_rest(client: Client, given: dict[str, Any]) -> Any:
    return client.post("/api/v1/execute", {"user": "alice", "name": MAIL, **given}, JSON)


def by_execute_tool(client: Client, given: dict[str, Any]) -> Any:
    body = {"user": "alice", "arguments": {"name": MAIL, **given}}
    return client.post("/api/v1/meta/execute_tool", body, JSON)


def by_call_tool(client: Client, given: dict[str, Any]) -> Any:
    body = {"user": "alice", "arguments": {**BY_SERVER, **given}}
    return client.post("/api/v1/meta/mcp__call_tool", body, JSON)


def by_the_capability(client: Client, given: dict[str, Any]) -> Any:
    body = {"user": "alice", "name": "mcp__call_tool", "arguments": {**BY_SERVER, **given}}
    return client.post("/api/v1/execute", body, JSON)


WAYS = [by_rest, by_execute_tool, by_call_tool, by_the_capability]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
Way = Callable[[Client, dict[str, Any]], Any]


@pytest.fixture
def client(people: People) -> Client:
    schema = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
    CapabilityFactory.create(integration=people.gmail, action=ACTION, input_schema=schema)
    builtin = IntegrationFactory.create(slug="mcp", kind="builtin")
    give(builtin, people.support)
    # As an older release stored it.
    former = {"type": "object", "properties": {"params": {}}, "additionalProperties": False}
    CapabilityFactory.create(integration=builtin, action="call_tool", input_schema=former)
    return client_with(new_key(people.support, "execute"))


@every_way
@pytest.mark.parametrize("name", ["arguments", "params"])
def test_both_names_are_accepted(client: Client, way: Way, name: str) -> None:
    answer = way(client, {name: TO_BOB})

    assert answer.status_code == 200, answer.json()
    assert '"to":"bob"' in answer.content.decode().replace('": "', '":"')


@every_way
def test_both_names_at_once_are_refused_by_name(client: Client, way: Way) -> None:
    answer = way(client, {"arguments": TO_BOB, "params": TO_BOB})

    problem = answer.json()
    assert (answer.status_code, problem["field"].rpartition(".")[2]) == (400, "params")
    assert "`arguments` or `params`, not both" in problem["detail"]


@every_way
def test_refusal_of_an_argument_does_not_depend_on_the_name(client: Client, way: Way) -> None:
    answers = [way(client, {name: {"to": 1}}) for name in ("arguments", "params")]

    told = [{**answer.json(), "request_id": "", "result": ""} for answer in answers]
    assert told[0] == told[1]
    assert [answer.status_code for answer in answers] in ([400, 400], [200, 200])


def test_published_schemas_have_the_one_name(client: Client) -> None:
    schema = client.get("/api/schema/", {"format": "json"}).json()["components"]["schemas"]

    published = [
        set(schema["ExecuteRequestRequest"]["properties"]),
        *(META_TOOLS[name].parameters.keys() for name in ("execute_tool", "mcp__call_tool")),
    ]
    assert all("arguments" in names and "params" not in names for names in published)
