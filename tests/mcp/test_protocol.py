"""The MCP server's answers, results and refusals, message by message, by the key's owner alone."""

import json
import re
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolResult
from pytest_django.fixtures import Settings

from catalog.formats.descriptors import IntegrationDescriptor, column_values
from catalog.models import Capability, Integration
from catalog.readiness.readiness import Readiness
from catalog.servers.client.mcp_session import ToolResult
from catalog.trust.tool_list import read_tool
from discovery.calls.view import Execution
from discovery.calls.worker import serialize_result
from discovery.mcp.server import _change_stream
from discovery.mcp.server._client_side import ClientSide
from discovery.mcp.server._mcp_tools import describe_tool, listed_for, result_of_call
from discovery.metatools import META_TOOLS
from tests.access.people import People
from tests.access.ways import META_CALLS, hide_something
from tests.conformance.older_client import STREAM, Stream
from tests.factories import take_away
from tests.mcp.asking import (
    ENVELOPE,
    HANDSHAKES,
    MODERN,
    OLDEST,
    ask,
    ask_modern,
    call,
    error,
    send,
)
from tests.mcp.conftest import key_of
from tests.sessions import session_of
from tests.web.conftest import new_key

TASKS: dict[str, Any] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
HELLO = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.mark.parametrize(
    ("offered", "agreed"),
    [*zip(HANDSHAKES, HANDSHAKES, strict=True), ("1999-01-01", HANDSHAKES[-1])],
)
def test_handshake_agrees_on_a_version(key: str, offered: str, agreed: str) -> None:
    answer = ask(key, "initialize", {**HELLO, "protocolVersion": offered})
    done = send(key, {"jsonrpc": "2.0", "method": "notifications/initialized"})

    result = answer.json()["result"]
    assert result["protocolVersion"] == agreed
    assert result["serverInfo"]["name"] == "pegboard"
    announced: dict[str, Any] = {"tools": {}} | (
        {"tasks": TASKS} if agreed == HANDSHAKES[-1] else {}
    )
    assert result["capabilities"] == announced
    assert "search_tools" in result["instructions"]
    assert answer.headers["Mcp-Session-Id"].isascii()
    assert (done.status_code, done.content) == (202, b"")


def test_newer_clients_discover_without_a_handshake(key: str) -> None:
    result = ask_modern(key, "server/discover").json()["result"]

    assert result["supportedVersions"][0] == MODERN
    assert (result["cacheScope"], result["resultType"]) == ("private", "complete")
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "pegboard"


def test_list_has_the_meta_tools_and_is_private(key: str) -> None:
    modern = ask_modern(key, "tools/list").json()["result"]
    old = ask(key, "tools/list", headers={"MCP-Protocol-Version": OLDEST}).json()["result"]

    assert [tool["name"] for tool in modern["tools"]] == list(META_TOOLS)
    assert (modern["cacheScope"], modern["ttlMs"]) == ("private", 60_000)
    assert [tool["name"] for tool in old["tools"]] == list(META_TOOLS)
    assert "cacheScope" not in old
    reading = {tool["name"] for tool in modern["tools"] if tool["annotations"]["readOnlyHint"]}
    writing = {"execute_tool", "mcp__call_tool", "mcp__register_server"}
    assert META_TOOLS.keys() - reading == writing


def test_key_without_a_scope_is_not_offered_what_needs_it(people: People) -> None:
    raw = key_of(people, "discover")

    listed = ask(raw, "tools/list").json()["result"]["tools"]
    refused = ask(raw, "tools/call", {"name": "execute_tool", "arguments": {"name": "x"}})

    assert not {"execute_tool", "get_call"} & {tool["name"] for tool in listed}
    assert refused.json()["error"]["message"] == "Unknown tool: execute_tool"
    assert ask(key_of(people, "admin"), "tools/list").status_code == 403


def test_answer_is_structured_and_text(key: str) -> None:
    asked: dict[str, Any] = {"name": "get_tool", "arguments": {"name": "gmail__send_email"}}
    for answer in (ask, ask_modern):
        result = answer(key, "tools/call", asked).json()["result"]

        assert result["structuredContent"]["name"] == "gmail__send_email"
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        assert not result["isError"]


def test_trouble_inside_a_tool_is_told_to_the_model(key: str) -> None:
    unknown = call(key, "get_tool", name="gmail.send_mail")
    wrong = call(key, "search_tools", query="mail", limit="ten")

    assert unknown["isError"]
    assert "Did you mean gmail__send_email?" in unknown["content"][0]["text"]
    assert wrong["isError"]
    assert wrong["content"][0]["text"].startswith("limit: ")


def test_trouble_with_the_protocol_is_an_error_of_the_protocol(key: str) -> None:
    assert error(ask(key, "resources/list")) == (200, -32601)
    assert error(ask_modern(key, "initialize", HELLO)) == (404, -32601)
    assert error(ask(key, "tools/call", {"arguments": {}})) == (200, -32602)
    assert error(ask_modern(key, "tools/call", {"name": "no_such_tool"})) == (400, -32602)
    assert error(ask_modern(key, "tools/list", headers={"Mcp-Method": "tools/call"})) == (
        400,
        -32020,
    )
    assert error(ask(key, "ping", headers={"MCP-Protocol-Version": "2099-01-01"}))[0] == 400
    assert error(send(key, "{")) == (400, -32700)
    assert error(send(key, [{"jsonrpc": "2.0", "id": 1, "method": "ping"}])) == (400, -32600)
    assert ask(key, "ping").json() == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_nobody_gets_in_without_a_key(people: People, key: str) -> None:
    for raw in ("", "pb_made-up"):
        refused = ask(raw, "tools/list")

        assert refused.status_code == 401
        assert refused["WWW-Authenticate"].startswith("Bearer")
    assert Client().get("/mcp").status_code == 401
    got = Client(headers={"Authorization": f"Bearer {key}"}).get("/mcp")
    assert (got.status_code, got["Allow"]) == (405, "GET, POST, HEAD, OPTIONS")


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://evil.example", 403),
        ("null", 403),
        ("http://testserver.evil.example", 403),
        ("https://testserver", 403),
        ("http://testserver", 200),
        ("https://chat.example.org", 200),
    ],
)
def test_pages_from_elsewhere_are_not_answered(
    key: str, settings: Settings, origin: str, status: int
) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://*.example.org"]

    assert ask(key, "tools/list", headers={"Origin": origin}).status_code == status
    if status == 403:
        assert ask("", "tools/list", headers={"Origin": origin}).status_code == 403


def test_other_hosts_and_large_bodies_are_refused(key: str, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["pegboard.example"]
    assert ask(key, "ping").status_code == 400
    assert ask(key, "ping", headers={"Host": "pegboard.example"}).status_code == 200

    settings.PEGBOARD_MAX_BODY_BYTES = 1_000
    long = {"name": "get_tool", "arguments": {"name": "x" * 1_000}}
    assert ask(key, "tools/call", long, headers={"Host": "pegboard.example"}).status_code == 413


def test_nobody_takes_a_session_over(people: People, key: str) -> None:
    """Know a session only with the key that began it."""
    others = key_of(people)
    hello = {**HELLO, "protocolVersion": HANDSHAKES[-1]}
    opened = ask(key, "initialize", hello).headers["Mcp-Session-Id"]

    codes = {
        (raw, named): ask(raw, "ping", headers={"Mcp-Session-Id": named}).status_code
        for raw in (key, others)
        for named in (opened, "made-up", f"{opened}x")
    }

    assert codes.pop((key, opened)) == 200
    assert set(codes.values()) == {404}


def test_session_needs_its_token(people: People) -> None:
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    client = Client(enforce_csrf_checks=True)
    client.force_login(people.alice)
    lenient = session_of(people.alice)

    refused = client.post("/mcp", message, content_type="application/json")
    answered = lenient.post("/mcp", message, content_type="application/json")

    assert refused.status_code == 403
    assert len(answered.json()["result"]["tools"]) == len(META_TOOLS)


def test_stream_of_a_session_ends_with_it(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_change_stream, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(_change_stream, "_SILENCE_SECONDS", 0.05)
    browser = Client()
    browser.force_login(people.alice, "acl.people.sign_in_attempts.PasswordBackend")
    params = {"notifications": {"toolsListChanged": True}, "_meta": ENVELOPE}
    message = {"jsonrpc": "2.0", "id": 5, "method": "subscriptions/listen", "params": params}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "subscriptions/listen", **STREAM}

    stream = Stream(
        browser.post("/mcp", json.dumps(message), content_type="application/json", headers=headers)
    )
    stream.next()
    browser.logout()
    [end] = stream.rest()

    assert end["result"]["resultType"] == "complete"


def test_limits_count_for_mcp_too(key: str, settings: Settings) -> None:
    settings.PEGBOARD_RATE_PER_KEY = 2

    with time_machine.travel(
        "2031-01-01T00:00:00Z", tick=False
    ):  # a minute that no other test uses
        answers = [ask(key, "ping").status_code for _ in range(3)]

    assert answers == [200, 200, 429]


@pytest.mark.parametrize(
    ("name", "arguments", "most"),
    [
        ("list_categories", {}, 4),
        ("search_tools", {"query": "send an email"}, 5),
        # Two of them count the groups of the caller that have it.
        ("get_tool", {"name": "gmail__send_email"}, 6),
        ("execute_tool", {"name": "gmail__send_email"}, 5),
    ],
)
def test_call_takes_few_statements(
    key: str, name: str, arguments: dict[str, Any], most: int
) -> None:
    call(key, name, **arguments)  # fills the caches

    with CaptureQueriesContext(connection) as statements:
        call(key, name, **arguments)

    assert len(statements) <= most


OURS = "gmail__send_email"
# Current states of Redis or the model, which are no secret.
_DEGRADED = re.compile(rb',\\?"degraded\\?":\\?"[^"]*"')
# A call's random id.
_CALL = re.compile(rb'call_id\\?":\\?"[0-9a-f-]{36}')


def _calls(name: str = OURS) -> list[tuple[str, dict[str, Any]]]:
    listing: list[tuple[str, dict[str, Any]]] = [("tools/list", {})]
    return listing + [
        (
            "tools/call",
            json.loads(json.dumps({"name": tool, "arguments": sent}).replace("NAME", name)),
        )
        for tool, sent in META_CALLS
    ]


def _told(raw: str, name: str = OURS) -> list[tuple[int, bytes, dict[str, str], int]]:
    """Return status, body, headers and number of statements of all calls, in both generations."""
    told = []
    for method, params in _calls(name):
        for way in (ask, ask_modern):
            with CaptureQueriesContext(connection) as statements:
                answer = way(raw, method, params)
            body = _CALL.sub(b"call", _DEGRADED.sub(b"", answer.content))
            headers = {name: text for name, text in answer.items() if name != "Content-Length"}
            told.append((answer.status_code, body, headers, len(statements)))
    return told


def _called(raw: str) -> list[tuple[int, bytes, dict[str, str], int]]:
    """Return the same without the lists, whose descriptions contain an example name."""
    return _told(raw, "x")[2:]


def test_what_is_hidden_changes_no_answer(people: People, key: str) -> None:
    _told(key)  # fills the caches
    before = _told(key)

    for number in range(7):
        hide_something(people, Random(number))
    _told(key)

    assert _told(key) == before


def test_foreign_and_unknown_names_are_answered_alike(people: People, key: str) -> None:
    _told(key)
    foreign = _told(key, "payroll__pay")

    people.pay.delete()
    _told(key)

    assert _told(key, "payroll__pay") == foreign


def test_each_owner_is_told_of_their_own(people: People, key: str) -> None:
    stranger = new_key(
        people.finance, "discover", "execute", owner=people.charlie, acts_for_users=False
    )
    everyones = new_key(people.support, "discover", "execute")

    assert b"gmail" not in b"".join(body for _, body, _, _ in _called(stranger))
    assert b"payroll" not in b"".join(body for _, body, _, _ in _called(key))
    nameless = ask(everyones, "tools/call", {"name": "list_categories"})
    assert (nameless.status_code, nameless.json()["field"]) == (400, "user")


@pytest.mark.parametrize("loss", ["grant", "group", "active"])
def test_lost_right_is_gone_from_the_next_call(
    people: People, key: str, loss: str, settings: Settings
) -> None:
    # Other tests of the same minute send wrong keys from this address, too.
    settings.PEGBOARD_RATE_WRONG_KEYS = 10_000
    _told(key)

    if loss == "grant":
        take_away(people.gmail, people.support)
    elif loss == "group":
        people.alice.groups.clear()
    else:
        type(people.alice).objects.filter(pk=people.alice.pk).update(is_active=False)

    for status, body, _, _ in _called(key):
        assert status in {200, 401, 403}
        assert b"gmail" not in body


def result_of(**result: Any) -> CallToolResult:
    done = Execution("completed", "shop__count", "", result=result)
    answer = result_of_call(done, ClientSide(version="2025-03-26"))
    assert isinstance(answer, CallToolResult)
    return answer


def texts(answer: CallToolResult) -> list[str]:
    return [getattr(block, "text", block.type) for block in answer.content]


@pytest.mark.parametrize("value", [{"n": 7}, {"größe": ["ß"]}, [1, 2], 5, False])
def test_structured_value_alone_is_the_text_for_the_model(value: Any) -> None:
    answer = result_of(content=[], structured=value, is_error=False)

    assert [json.loads(text) for text in texts(answer)] == [value]


def test_block_of_a_later_version_costs_no_other_block() -> None:
    link = {"type": "resource_link", "name": "a", "uri": "file:///a"}
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}

    answer = result_of(content=[picture, link, {"type": "text", "text": "Sold."}])

    assert [block.type for block in answer.content] == ["image", "text", "text"]
    assert json.loads(texts(answer)[1]) == link


@pytest.mark.parametrize("reference", ["#/$defs/Screen", "https://example.com/x", "#nowhere"])
def test_output_schema_that_refers_to_nothing_is_left_out(reference: str) -> None:
    items = {"type": "array", "items": {"$ref": reference}}
    row = Capability(
        integration=Integration(slug="shop"),
        display_name="Screens",
        input_schema={"type": "object"},
        output_schema={"type": "object", "properties": {"screens": items}},
        side_effect="read",
    )
    row.readiness = SimpleNamespace(state=Readiness.READY)  # type: ignore[attr-defined]

    assert describe_tool(row, "screen_list", own_schema=True).output_schema is None
    row.output_schema = {"type": "object", "properties": {"screens": {"type": "array"}}}
    assert describe_tool(row, "screen_list", own_schema=True).output_schema == row.output_schema


HOUSE = IntegrationDescriptor(slug="house", kind="mcp", title="House")
names = st.text("abcdefgh/_-.", min_size=1, max_size=12).filter(lambda name: name != "ui")
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("xyz ", max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
tools = st.fixed_dictionaries(
    {
        "name": st.just("act"),
        "inputSchema": st.just({"type": "object"}),
        "_meta": st.dictionaries(names, values, max_size=3),
    },
    optional={
        "annotations": st.fixed_dictionaries(
            {},
            optional={
                name: st.booleans()
                for name in ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
            }
            | {"title": st.sampled_from(["Act", "Do it"])},
        ),
        "icons": st.lists(
            st.fixed_dictionaries(
                {"src": st.sampled_from(["https://a.example/i.png", "data:image/png;base64,aGk="])},
                optional={"mimeType": st.just("image/png"), "sizes": st.just(["48x48"])},
            ),
            min_size=1,
            max_size=2,
        ),
        "outputSchema": st.sampled_from(
            [
                {"type": "object", "properties": {"n": {"type": "number"}}},
                {"type": "array", "items": {"type": "string"}},
                {"type": ["string", "null"]},
                {"anyOf": [{"type": "number"}, {"type": "boolean"}]},
            ]
        ),
    },
)


@given(tool=tools, effect=st.sampled_from(Capability.SideEffect.values))
def test_what_a_server_says_of_a_tool_reaches_clients_as_it_is(
    tool: dict[str, Any], effect: str
) -> None:
    """Send a definition of any such shape through reader and list, and find it in the answer."""
    of_neighbours = {"pegboard/readiness": "failing", "io.modelcontextprotocol/serverInfo": {}}
    offered = read_tool(HOUSE, {**tool, "_meta": {**tool["_meta"], **of_neighbours}})
    assert offered.descriptor is not None
    assert offered.digest == read_tool(HOUSE, tool).digest  # what is ours changes no definition
    values = {**column_values(offered.descriptor), "side_effect": effect}
    fields = {field.name for field in Capability._meta.concrete_fields} - {"integration"}
    row = Capability(
        integration=Integration(slug="house"),
        **{name: value for name, value in values.items() if name in fields},
    )
    row.readiness = SimpleNamespace(state=Readiness.READY)  # type: ignore[attr-defined]

    listed = describe_tool(row, "act", own_schema=True)
    dumped = listed_for("2026-07-28", listed).model_dump(by_alias=True, exclude_none=True)
    older = listed_for("2025-11-25", listed).output_schema

    derived = {"pegboard/readiness": "ready", "pegboard/effect": effect}
    assert dumped["_meta"] == {**tool["_meta"], **derived}
    assert dumped.get("icons") == tool.get("icons")
    assert dumped.get("outputSchema") == tool.get("outputSchema")
    hints = tool.get("annotations", {})
    if any(name.endswith("Hint") for name in hints):
        assert dumped["annotations"] == hints
    else:
        assert dumped["annotations"].items() >= hints.items()
        assert dumped["annotations"]["readOnlyHint"] == (effect == "read")
    is_object = tool.get("outputSchema", {}).get("type") == "object"
    assert older == (tool["outputSchema"] if is_object else None)


@given(meta=st.dictionaries(names, values, min_size=1, max_size=3), value=values)
def test_what_a_server_adds_to_a_result_reaches_clients_and_no_model(
    meta: dict[str, Any], value: Any
) -> None:
    result = ToolResult([{"type": "text", "text": "Done."}], value, meta=meta)
    stored = json.loads(serialize_result(result, most=10_000))
    shown = {name: stored[name] for name in ("content", "structured") if stored[name] is not None}
    done = Execution("completed", "house__act", "", result=shown, meta=stored["meta"])

    newer = result_of_call(done, ClientSide(version="2026-07-28"))
    older = result_of_call(done, ClientSide(version="2025-11-25"))

    assert isinstance(newer, CallToolResult)
    assert isinstance(older, CallToolResult)
    assert newer.meta == older.meta == meta
    assert newer.structured_content == value
    assert older.structured_content == (value if isinstance(value, dict) else None)
    assert "meta" not in done.as_answer()
    too_long = ToolResult([{"type": "text", "text": "x" * 900}], meta={"a": "b" * 90})
    cut = serialize_result(too_long, most=800)
    assert (len(cut) <= 800, json.loads(cut)["meta"]) == (True, too_long.meta)
