"""Tool format of MCP servers."""

from collections.abc import Sequence
from typing import Any

from discovery.answer.formats._legal_schema import arguments_schema
from discovery.answer.formats.base import Tool

LABEL = "MCP"
MOST_TOOLS = 2_000  # ours: the protocol has no limit


def render(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Render the value of `tools` in a `tools/list` result."""
    return [
        {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description or tool.title,
            "inputSchema": arguments_schema(tool.input_schema),
            "annotations": _annotations(tool),
        }
        for tool in tools
    ]


def name_of(full_name: str) -> str:
    """Return the name unchanged: full names are valid here."""
    return full_name


def argument_names(tool: Tool) -> dict[str, str]:
    """Return no renamed arguments: names are valid here."""
    return {}


def _annotations(tool: Tool) -> dict[str, bool]:
    """Return hints for clients; nothing is promised of a tool whose effect is unknown."""
    read_only = {"readOnlyHint": tool.side_effect == "read"}
    if tool.side_effect == "unknown":
        return read_only
    return {**read_only, "destructiveHint": tool.side_effect == "delete"}
