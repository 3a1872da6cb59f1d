"""Tool format of Anthropic's Messages API.

Deferred definitions stay out of the model's context, and out of the cached prefix, until a search
returns a reference to them. The search may be a tool of our own: `discover_capabilities`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from discovery.answer.formats.argument_names import map_renamed_keys, rename_illegal_keys
from discovery.answer.formats.format_base import Tool, describe
from discovery.answer.formats.legal_schema import arguments_schema

MOST_TOOLS = 10_000


def render(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Render the value of `tools`."""
    return [
        {
            "name": tool.name,
            "description": describe(tool),
            "input_schema": rename_illegal_keys(arguments_schema(tool.input_schema)),
        }
        for tool in tools
    ]


def render_deferred(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Render tools that are deferred until a search returns them."""
    return [{**tool, "defer_loading": True} for tool in render(tools)]


def search_result(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """Render the content of the `tool_result` that answers a search, in the given order."""
    found = [{"type": "tool_reference", "tool_name": tool.name} for tool in tools]
    return found or [{"type": "text", "text": "Nothing fits."}]


def name_of(full_name: str) -> str:
    """Return the name unchanged: full names are valid here."""
    return full_name


def argument_names(tool: Tool) -> dict[str, str]:
    """Return the renamed arguments: their original names by the valid ones."""
    return map_renamed_keys(arguments_schema(tool.input_schema))
