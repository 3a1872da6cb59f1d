"""Raw MCP messages, which no proper client would send."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.test import Client

MODERN, OLDEST = "2026-07-28", "2024-11-05"
HANDSHAKES = (OLDEST, "2025-03-26", "2025-06-18", "2025-11-25")
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


Headers = Mapping[str, str]
Params = Mapping[str, Any]
NONE: Headers = MappingProxyType({})


def ask(
    raw: str,
    method: str,
    params: Params | None = None,
    headers: Headers = NONE,
    path: str = "/mcp",
) -> Any:
    """Send a request of the older protocol, with the version in a header."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    return send(raw, message, headers, path)


def ask_modern(
    raw: str,
    method: str,
    params: Params | None = None,
    headers: Headers = NONE,
    path: str = "/mcp",
) -> Any:
    """Send a request of the newer protocol: all in the message, and repeated in headers."""
    params = {**(params or {}), "_meta": ENVELOPE}
    named = {"Mcp-Name": params["name"]} if "name" in params else {}
    more = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method, **named, **headers}
    return send(raw, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, more, path)


def send(raw: str, message: Any, headers: Headers = NONE, path: str = "/mcp") -> Any:
    """Send any body."""
    body = message if isinstance(message, str) else json.dumps(message)
    own = {"Authorization": f"Bearer {raw}", "X-Request-ID": "story"} if raw else {}
    client = Client(headers={**own, **headers})
    return client.post(path, body, content_type="application/json")


def call(raw: str, tool: str, /, **arguments: Any) -> Any:
    """Return the result of a tool call."""
    params = {"name": tool, "arguments": arguments}
    return ask(raw, "tools/call", params).json()["result"]


def error(response: Any) -> tuple[int, int]:
    return response.status_code, response.json()["error"]["code"]
