"""The MCP server's answers and refusals, message by message (MCP-1)."""

import json
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from discovery.mcp.server import _change_stream
from discovery.metatools.registry import META_TOOLS
from tests.access.people import People
from tests.conformance.older_client import STREAM, Stream
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
    lenient = Client()
    lenient.force_login(people.alice)

    refused = client.post("/mcp", message, content_type="application/json")
    answered = lenient.post("/mcp", message, content_type="application/json")

    assert refused.status_code == 403
    assert len(answered.json()["result"]["tools"]) == len(META_TOOLS)


def test_stream_of_a_session_ends_with_it(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_change_stream, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(_change_stream, "_SILENCE_SECONDS", 0.05)
    browser = Client()
    browser.force_login(people.alice, "acl.people._backends.PasswordBackend")
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
