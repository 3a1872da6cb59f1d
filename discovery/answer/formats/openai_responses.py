"""The tools of OpenAI's Responses API, with a tool search that the client executes.

The model asks by an item `tool_search_call`; the client answers by a `tool_search_output` with the
definitions, so nothing has to be declared before.
"""

from collections.abc import Sequence
from typing import Any

from discovery.answer.formats.format_base import Tool, described
from discovery.answer.formats.legal_schema import arguments_schema

MOST_TOOLS = 128


def render(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """The value of `tools`."""
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": described(tool),
            "parameters": arguments_schema(tool.input_schema),
            # Left out, it would mean: strict wherever the schema happens to allow it.
            "strict": False,
        }
        for tool in tools
    ]


def render_search(search: Tool) -> dict[str, Any]:
    """The entry of `tools` by which the model may search."""
    return {
        "type": "tool_search",
        "execution": "client",
        "description": described(search),
        "parameters": arguments_schema(search.input_schema),
    }


def search_result(tools: Sequence[Tool]) -> dict[str, Any]:
    """The item that answers a `tool_search_call`; the client adds the call's `call_id`."""
    return {
        "type": "tool_search_output",
        "execution": "client",
        "status": "completed",
        "tools": [{**tool, "defer_loading": True} for tool in render(tools)],
    }


def name_of(full_name: str) -> str:
    """Full names are legal here."""
    return full_name


def argument_names(tool: Tool) -> dict[str, str]:
    """Arguments keep their names."""
    return {}
