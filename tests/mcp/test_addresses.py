"""MCP servers by address: the whole catalogue, a space, or one integration (G1)."""

import json
import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from acl.people.spaces import create_space, ensure_root
from acl.platform.redis_circuit import redis_circuit
from acl.rights.caller_lookup import Caller
from catalog.access.rules import add_rule
from catalog.models import Capability, Integration, Rule
from catalog.registration.admin_corrections import change_tool
from discovery.metatools import META_TOOLS
from discovery.models import Call
from tests.access.people import People
from tests.conformance.older_client import OlderClient
from tests.factories import CapabilityFactory, IntegrationFactory, give, take_away
from tests.mcp.asking import ask, ask_modern, call, error
from tests.mcp.conftest import key_of
from tests.web.conftest import client_with, new_key

LIST = {"id": 2, "method": "tools/list"}
SEARCH = {"name": "search_tools", "arguments": {"query": "merge"}}
SCHEMA = {"type": "object", "properties": {"pr": {"type": "integer"}}, "required": ["pr"]}


@pytest.fixture
def hub(people: People) -> Integration:
    """A server of support, with two tools, of which one asks first."""
    hub = IntegrationFactory.create(
        slug="hub", title="Code hub", transport="http", connection="connected", version="2.1.0"
    )
    give(hub, people.support)
    merge = {"side_effect": "delete", "input_schema": SCHEMA}
    CapabilityFactory.create(integration=hub, action="merge", **merge)
    output = {"type": "object", "properties": {"text": {"type": "string"}}}
    CapabilityFactory.create(
        integration=hub,
        action="read.file",
        full_name="hub__read_file",
        output_schema=output,
        input_schema=SCHEMA,
    )
    return hub


def names_at(key: str, path: str = "/mcp") -> list[str]:
    listed = ask(key, "tools/list", path=path).json()["result"]["tools"]
    return [tool["name"] for tool in listed]


def own_names(key: str, path: str = "/mcp") -> list[str]:
    return [name for name in names_at(key, path) if name not in META_TOOLS]


def test_client_that_cannot_search_sees_all_its_tools(hub: Integration, key: str) -> None:
    names = names_at(key)

    # What Pegboard only describes (gmail, wiki) is found by the meta-tools, and listed by none.
    assert names == [*META_TOOLS, "hub__merge", "hub__read_file"]


def test_list_of_an_integration_is_its_servers_own(hub: Integration, key: str) -> None:
    listed = ask(key, "tools/list", path="/mcp/hub").json()["result"]["tools"]
    merge, read, follow = listed

    assert (merge["name"], read["name"], follow["name"]) == ("merge", "read.file", "get_call")
    assert merge["inputSchema"] == SCHEMA
    assert merge["annotations"] == {"readOnlyHint": False, "destructiveHint": True}
    derived = {"pegboard/readiness": "asks_first", "pegboard/effect": "delete"}
    assert merge["_meta"] == derived
    assert read["outputSchema"]["properties"] == {"text": {"type": "string"}}
    begun = ask_modern(key, "server/discover", path="/mcp/hub").json()["result"]
    info = begun["_meta"]["io.modelcontextprotocol/serverInfo"]
    assert (info["name"], info["title"], info["version"]) == ("hub", "Code hub", "2.1.0")
    assert "search_tools" not in begun["instructions"]


def test_tool_that_an_admin_renamed_is_listed_and_called_by_either_address(
    hub: Integration, key: str
) -> None:
    merge = Capability.objects.get(full_name="hub__merge")
    change_tool(by=None, pk=merge.pk, values={"name": "join", "description": "Joins a branch."})

    [joined, *_] = ask(key, "tools/list", path="/mcp/hub").json()["result"]["tools"]
    for path, name in (("/mcp/hub", "join"), ("/mcp/hub", "merge"), ("/mcp", "hub__join")):
        ask(key, "tools/call", {"name": name, "arguments": {"pr": 7}}, path=path)

    assert (joined["name"], joined["description"]) == ("join", "Joins a branch.")
    assert own_names(key) == ["hub__join", "hub__read_file"]
    assert [row.full_name for row in Call.objects.all()] == ["hub__join"] * 3
    assert {row.capability.action for row in Call.objects.all() if row.capability} == {"merge"}


def test_address_of_what_is_not_yours_is_that_of_nothing(people: People, hub: Integration) -> None:
    charlie: dict[str, Any] = {"acts_for_users": False, "owner": people.charlie}
    stranger = new_key(people.finance, "discover", "execute", **charlie)
    answers = [
        (way(stranger, method, path=path).status_code, way(stranger, method, path=path).content)
        for path in ("/mcp/hub", "/mcp/no-such-thing")
        for way in (ask, ask_modern)
        for method in ("ping", "tools/list", "server/discover")
    ]

    assert {status for status, _ in answers} == {404}
    assert answers[:6] == [(s, b.replace(b"no-such-thing", b"hub")) for s, b in answers[6:]]
    assert own_names(stranger) == []


def test_lost_right_is_gone_from_lists_and_calls(
    people: People, hub: Integration, key: str
) -> None:
    assert own_names(key) == ["hub__merge", "hub__read_file"]

    take_away(hub, people.support)

    assert own_names(key) == []
    assert ask(key, "tools/list", path="/mcp/hub").status_code == 404
    assert error(ask(key, "tools/call", {"name": "hub__merge", "arguments": {}})) == (200, -32602)


def test_direct_call_goes_through_the_same_door(hub: Integration, key: str) -> None:
    wrong = call(key, "hub__merge", pr="seven")
    waits = call(key, "hub__merge", pr=7)
    again = ask(key, "tools/call", {"name": "merge", "arguments": {"pr": 8}}, path="/mcp/hub")
    one, two = Call.objects.order_by("created_at")
    state = call(key, "get_call", call_id=str(one.pk))

    assert wrong["isError"]
    assert wrong["content"][0]["text"].startswith("pr: ")
    assert (one.full_name, one.arguments, one.state) == (
        "hub__merge",
        {"pr": 7},
        "waiting_approval",
    )
    assert (two.full_name, two.arguments, two.state) == (
        "hub__merge",
        {"pr": 8},
        "waiting_approval",
    )
    assert waits["isError"]
    assert f"get_call and call_id {one.pk}" in waits["content"][0]["text"]
    assert again.json()["result"]["isError"]
    assert state["structuredContent"]["status"] == "approval_needed"


def test_tool_that_needs_its_user_says_so_and_is_not_offered_among_others(
    hub: Integration, key: str
) -> None:
    Integration.objects.filter(pk=hub.pk).update(required_secrets=["TOKEN"], own_secrets=True)

    assert own_names(key) == []
    assert names_at(key, "/mcp/hub")[:2] == ["merge", "read.file"]
    assert "TOKEN" in call(key, "hub__read_file", pr=1)["content"][0]["text"]


def test_key_that_may_not_execute_is_offered_no_tool_of_its_own(
    people: People, hub: Integration
) -> None:
    raw = key_of(people, "discover")

    assert own_names(raw) == names_at(raw, "/mcp/hub") == []
    for path, name in (("/mcp", "hub__merge"), ("/mcp/hub", "merge")):
        refused = ask(raw, "tools/call", {"name": name, "arguments": {"pr": 1}}, path=path)
        assert refused.json()["error"]["message"] == f"Unknown tool: {name}"
    assert not Call.objects.exists()


def test_space_has_its_own_list(people: People, hub: Integration, key: str) -> None:
    space = create_space(
        by=None, group=people.support, parent=ensure_root(people.support), name="Night shift"
    )
    merge = Capability.objects.get(full_name="hub__merge")
    add_rule(by=None, space=space, capability=merge, effect=Rule.Effect.DENY)

    assert own_names(key, f"/mcp/space/{space.slug}") == ["hub__read_file"]
    assert own_names(key) == ["hub__merge", "hub__read_file"]
    assert ask(key, "tools/list", path="/mcp/space/no-such-space").status_code == 403


def _many(people: People, count: int) -> None:
    shop = IntegrationFactory.create(slug="shop", transport="http", connection="connected")
    give(shop, people.support)
    for number in range(count):
        CapabilityFactory.create(
            integration=shop,
            action=f"buy_{number}",
            description=f"Buy the article of kind {number}.",
            vector=[0, 1, number / 10],
        )


def _called(caller: Caller, full_name: str, *, days_ago: int = 1) -> None:
    row = Call.objects.create(
        user_id=caller.user_id,
        group_id=caller.group_id,
        capability=Capability.objects.get(full_name=full_name),
        full_name=full_name,
        way="server",
        state="failed",
        ended_at="2026-01-01T00:00:00Z",
    )
    Call.objects.filter(pk=row.pk).update(created_at=timezone.now() - timedelta(days=days_ago))


def test_long_list_is_what_is_pinned_and_what_was_used_most(
    people: People, hub: Integration, key: str, settings: Settings
) -> None:
    settings.PEGBOARD_MCP_TOOLS = 3
    _many(people, 5)
    nothing_yet = own_names(key)
    for name, times in (("shop__buy_4", 2), ("hub__merge", 1), ("shop__buy_0", 1)):
        for _ in range(times):
            _called(people.caller, name)
    used = own_names(key)
    Capability.objects.filter(full_name="shop__buy_1").update(pinned=True)
    pinned = own_names(key)

    assert nothing_yet == []
    assert used == ["hub__merge", "shop__buy_0", "shop__buy_4"]
    assert pinned == ["hub__merge", "shop__buy_1", "shop__buy_4"]
    listed = ask_modern(key, "tools/list").json()["result"]
    assert (listed["ttlMs"], listed["cacheScope"]) == (60_000, "private")


ARGUMENTS = {
    "browse_category": {"category": "development"},
    "discover_capabilities": {"query": "merge"},
    "execute_tool": {"name": "shop__buy_2", "arguments": {}},
    "get_tool": {"name": "shop__buy_1"},
    "search_tools": {"query": "merge"},
    "tool_discovery__describe": {"tool_name": "shop__buy_3"},
    "tool_discovery__find": {"query": "Buy the article of kind 2."},
    "mcp__call_tool": {"server_name": "shop", "tool_name": "buy_3", "params": {}},
}


@pytest.mark.parametrize("most", [0, 3, 40])
def test_no_request_changes_the_list(
    people: People, hub: Integration, key: str, settings: Settings, most: int
) -> None:
    """Send every meta-tool, every direct call, and other methods, in any order; compare lists."""
    settings.PEGBOARD_MCP_TOOLS = most
    settings.PEGBOARD_CALL_WAIT_SECONDS = 0  # no worker comes
    _many(people, 5)
    _called(people.caller, "shop__buy_4")
    client = OlderClient(key, "/mcp")
    client.post(LIST)

    def lists() -> list[Any]:
        other = key_of(people)
        older = [
            way.post(LIST).json()["result"]["tools"] for way in (client, OlderClient(key, "/mcp"))
        ]
        newer = [ask_modern(raw, "tools/list").json()["result"]["tools"] for raw in (key, other)]
        bare = [[tool | {"execution": None} for tool in tools] for tools in [*older, *newer]]
        return [json.dumps(tools, sort_keys=True) for tools in bare]

    before = lists()
    requests = [(name, ARGUMENTS.get(name, {})) for name in META_TOOLS]
    requests += [(f"shop__buy_{number}", {}) for number in range(5)]
    random.Random(37).shuffle(requests)
    heard = []
    for name, arguments in requests:
        params = {"name": name, "arguments": arguments}
        answer = client.post({"id": 7, "method": "tools/call", "params": params})
        heard += [answer.headers["Content-Type"]]
        ask_modern(key, "tools/call", params)

    assert len(set(before)) == 1  # the same for every connection, generation and key of a person
    assert lists() == before
    assert set(heard) == {"application/json"}  # nobody was told of a change
    called = set(Call.objects.values_list("full_name", flat=True))
    assert called == {f"shop__buy_{number}" for number in range(5)}  # listed or not


def test_calls_of_a_day_count_from_the_next_one_on(
    people: People, hub: Integration, key: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PEGBOARD_MCP_TOOLS = 1
    _called(people.caller, "hub__merge", days_ago=0)

    today = own_names(key)
    tomorrow = timezone.now() + timedelta(days=1)
    monkeypatch.setattr(timezone, "now", lambda: tomorrow)

    assert today == []
    assert own_names(key) == ["hub__merge"]


def test_older_client_is_told_with_an_answer_that_its_list_changed(
    people: People, hub: Integration, key: str, tmp_path: Path
) -> None:
    client, other = OlderClient(key, "/mcp"), OlderClient(key, "/mcp")

    unread = _told(client, "search_tools", query="merge")
    for reader in (client, other):
        reader.post(LIST)
    same = _told(client, "search_tools", query="merge")
    take_away(hub, people.support)
    by_right = _told(other, "get_tool", name="gmail__send_email")
    seldom = _told(client, "get_tool", name="gmail__send_email")  # it has just been looked at
    once = _told(other, "get_tool", name="gmail__send_email")
    plain = ask(key, "tools/call", SEARCH, {"Mcp-Session-Id": client.headers["Mcp-Session-Id"]})
    with override_settings(REDIS_URL=f"unix://{tmp_path}/nobody.sock"):
        gone = _told(client, "search_tools", query="merge")
    redis_circuit.close()

    assert (unread, same, seldom, once, gone) == ([], [], [], [], [])
    assert by_right == ["notifications/tools/list_changed"]
    assert plain.headers["Content-Type"] == "application/json"  # all that it accepts


def _told(client: OlderClient, tool: str, **arguments: Any) -> list[str]:
    """Return the notifications before a call's result."""
    params = {"name": tool, "arguments": arguments}
    answer = client.post({"id": 7, "method": "tools/call", "params": params})
    if answer.headers["Content-Type"] == "application/json":
        messages = [answer.json()]
    else:
        lines = answer.content.decode().splitlines()
        messages = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    assert messages[-1]["result"]["structuredContent"]
    return [message["method"] for message in messages[:-1]]


def test_what_others_found_or_use_is_no_reason_to_list(
    people: People, hub: Integration, key: str, settings: Settings
) -> None:
    settings.PEGBOARD_MCP_TOOLS = 1
    _many(people, 3)
    take_away(hub, people.support)
    _called(people.stranger, "shop__buy_2")
    _called(people.caller, "hub__merge")

    assert own_names(key) == []  # another group's calls, and a tool that is no longer hers


def test_list_takes_few_statements_however_many_tools(
    people: People, hub: Integration, key: str, settings: Settings
) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            ask(key, "tools/list")
        return len(captured)

    ask(key, "tools/list")
    few = statements()
    _many(people, 20)
    ask(key, "tools/list")
    more = statements()
    settings.PEGBOARD_MCP_TOOLS = 10
    _called(people.caller, "shop__buy_4")

    assert more == few <= 7
    assert statements() <= few + 1


def test_registry_names_the_address_of_each_server(hub: Integration, key: str) -> None:
    entries = client_with(key).get("/v0.1/servers").json()["servers"]
    remotes = {entry["server"]["name"]: entry["server"]["remotes"][0]["url"] for entry in entries}

    # What is only described is left out: nobody could connect to it.
    assert remotes == {
        "testserver/hub": f"http://testserver{reverse('mcp-integration', args=['hub'])}"
    }
