"""Requests of a client of 2026-07-28, over Django's test client."""

from typing import Any

from tests.mcp.asking import ENVELOPE, MODERN, send

NEWER = "/mcp/reference-modern"
TASKS = "io.modelcontextprotocol/tasks"
DECLARED = {
    **ENVELOPE,
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}}},
}


def ask_newer(
    key: str, method: str, meta: Any = DECLARED, named: str = "", path: str = NEWER, **params: Any
) -> Any:
    """Ask as a client of 2026-07-28 that announces tasks."""
    return send_newer(key, method, meta, named, path, **params).json()


def send_newer(
    key: str, method: str, meta: Any, named: str, path: str, more: Any = (), **params: Any
) -> Any:
    name = named or params.get("taskId") or params.get("name") or ""
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method, "Mcp-Name": name, **dict(more)}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    return send(key, body, headers, path)
