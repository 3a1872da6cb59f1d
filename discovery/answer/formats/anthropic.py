"""The tools of Anthropic's Messages API.

Definitions that are deferred stay out of the model's context, and out of the prefix that is cached,
until a search returns a reference to them; the search may be a tool of one's own, and here it is
`discover_capabilities`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from discovery.answer.formats.argument_names import renamed_keys, with_legal_keys
from discovery.answer.formats.format_base import Tool, described
from discovery.answer.formats.legal_schema import arguments_schema

MOST_TOOLS = 10_000


def render(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """The value of `tools`."""
    return [
        {
            "name": tool.name,
            "description": described(tool),
            "input_schema": with_legal_keys(arguments_schema(tool.input_schema)),
        }
        for tool in tools
    ]


def render_deferred(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """The same for tools that wait until a search returns them."""
    return [{**tool, "defer_loading": True} for tool in render(tools)]


def search_result(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The content of the `tool_result` that answers a search: best first, as given."""
    found = [{"type": "tool_reference", "tool_name": tool.name} for tool in tools]
    return found or [{"type": "text", "text": "Nothing fits."}]


def name_of(full_name: str) -> str:
    """Full names are legal here."""
    return full_name


def argument_names(tool: Tool) -> dict[str, str]:
    """The arguments' own names by those that stand for them."""
    return renamed_keys(arguments_schema(tool.input_schema))
