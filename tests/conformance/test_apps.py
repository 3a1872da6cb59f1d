"""MCP Apps through Pegboard: passed on, announced both ways, their own tools shown to no model."""

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from catalog.models import Capability, Integration
from discovery.mcp.server._mcp_sessions import APPS
from discovery.models import Call
from tests.access.people import People
from tests.conformance.older_client import OlderClient
from tests.conformance.reference_server import BOARD, BOARD_META
from tests.factories import take_away
from tests.mcp.asking import ENVELOPE, MODERN, ask, send
from tests.mcp.conftest import key_of

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("behind")]
one_server = pytest.mark.parametrize("generation", ["modern"])
SLUG = "reference-modern"
SHOWS = {"extensions": {APPS: {"mimeTypes": ["text/html;profile=mcp-app"]}}}
# An address, and what the two tools are called there.
PLACES = {
    f"/mcp/{SLUG}": ("show_board", "refresh_board"),
    "/mcp": (f"{SLUG}__show_board", f"{SLUG}__refresh_board"),
}
Sending = Callable[[str, dict[str, Any]], Any]


def client(key: str, path: str, version: str, capabilities: dict[str, Any]) -> Sending:
    """Return what sends a request as a client of this version that announces this."""
    if version != MODERN:
        older = OlderClient(key, path, **capabilities)
        return lambda method, params: older.post(
            {"id": 1, "method": method, "params": params}
        ).json()
    envelope = {**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": capabilities}

    def send_modern(method: str, params: dict[str, Any]) -> Any:
        name = params.get("name") or params.get("uri")
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        headers |= {"Mcp-Name": name} if name else {}
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": method,
            "params": {**params, "_meta": envelope},
        }
        return send(key, body, headers, path).json()

    return send_modern


@one_server
@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
@pytest.mark.parametrize("path", PLACES)
def test_app_reaches_the_client_that_shows_it_and_its_tools_no_other(
    people: People, settings: Settings, path: str, version: str
) -> None:
    settings.PEGBOARD_MCP_TOOLS = 100
    key, (shown, own) = key_of(people), PLACES[path]
    plain, shows = (client(key, path, version, announced) for announced in ({}, SHOWS))

    lists = [
        {tool["name"]: tool for tool in way("tools/list", {})["result"]["tools"]}
        for way in (plain, shows)
    ]
    refused = plain("tools/call", {"name": own, "arguments": {}})
    own_call = shows("tools/call", {"name": own, "arguments": {}})["result"]
    by_server = shows("tools/call", {"name": "refresh_board", "arguments": {}})["result"]
    uri = lists[1][shown]["_meta"]["ui"]["resourceUri"]
    [page] = shows("resources/read", {"uri": uri})["result"]["contents"]

    assert set(lists[1]) - set(lists[0]) == {own}
    assert uri.startswith("ui://")
    assert lists[1][own]["_meta"]["ui"]["visibility"] == ["app"]
    assert refused["error"]["code"] == -32602
    for result in (own_call, by_server):
        assert result["_meta"]["board/cursor"] == "7"
        assert APPS in result["structuredContent"]["extensions"]  # Pegboard announces it, too
    assert page["_meta"] == BOARD_META
    assert (page["uri"], page["mimeType"]) == (uri, "text/html;profile=mcp-app")
    if path != "/mcp":
        assert uri == BOARD
    assert set(Call.objects.values_list("capability__action", flat=True)) == {"refresh_board"}


@one_server
def test_apps_own_calls_have_the_rights_and_approvals_of_any(people: People) -> None:
    key, path = key_of(people), "/mcp"
    shows = client(key, path, "2025-11-25", SHOWS)
    name = f"{SLUG}__refresh_board"
    tool = Capability.objects.get(full_name=name)

    own = {"name": name, "arguments": {}}
    searched = ask(key, "tools/call", {"name": "get_tool", "arguments": {"name": name}}).json()
    executed = ask(key, "tools/call", {"name": "execute_tool", "arguments": own}).json()
    announced = ask(
        key,
        "server/discover",
        {"_meta": ENVELOPE},
        {"MCP-Protocol-Version": MODERN, "Mcp-Method": "server/discover"},
    )
    Capability.objects.filter(pk=tool.pk).update(ai_access="propose")
    waits = shows("tools/call", own)["result"]
    Capability.objects.filter(pk=tool.pk).update(ai_access="app")
    readable = ask(
        key,
        "tools/call",
        {"name": "get_call", "arguments": {"call_id": str(Call.objects.get().pk)}},
    )
    Capability.objects.filter(pk=tool.pk).update(ai_access="blocked")
    blocked = shows("tools/call", own)
    Capability.objects.filter(pk=tool.pk).update(ai_access="app")
    take_away(Integration.objects.get(slug=SLUG), people.support)
    taken = shows("tools/call", own)

    assert tool.ai_access == "app"
    assert searched["result"]["isError"]
    assert executed["result"]["isError"]
    assert APPS in announced.json()["result"]["capabilities"]["extensions"]
    assert "get_call" in waits["content"][0]["text"]
    assert readable.json()["result"]["structuredContent"]["status"] == "approval_needed"
    assert blocked["error"]["code"] == taken["error"]["code"] == -32602
