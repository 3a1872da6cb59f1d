"""Tool format of OpenAI's Responses API, with a tool search that the client executes.

The model searches with a `tool_search_call`. The client answers with a `tool_search_output` that
contains the definitions, so none has to be declared before.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from discovery.answer.formats._legal_schema import arguments_schema
from discovery.answer.formats.base import Tool, describe

LABEL = "OpenAI Responses"
MOST_TOOLS = 128  # the provider's limit


def render(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Render the value of `tools`."""
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": describe(tool),
            "parameters": arguments_schema(tool.input_schema),
            # If omitted, the API uses strict mode for schemas that allow it.
            "strict": False,
        }
        for tool in tools
    ]


def render_search(search: Tool) -> dict[str, Any]:
    """Render the entry of `tools` that lets the model search."""
    return {
        "type": "tool_search",
        "execution": "client",
        "description": describe(search),
        "parameters": arguments_schema(search.input_schema),
    }


def render_searchable(
    tools: Iterable[Tool], matches: Sequence[Tool], search: Tool
) -> tuple[list[dict[str, Any]], Any]:
    """Render the search, and the answer to a search for `matches`. No tool is declared before."""
    return [render_search(search)], search_result(matches)


def search_result(tools: Sequence[Tool]) -> dict[str, Any]:
    """Render the answer to a `tool_search_call`; the client adds its `call_id`."""
    return {
        "type": "tool_search_output",
        "execution": "client",
        "status": "completed",
        "tools": [{**tool, "defer_loading": True} for tool in render(tools)],
    }


def name_of(full_name: str) -> str:
    """Return the name unchanged: full names are valid here."""
    return full_name


def argument_names(tool: Tool) -> dict[str, str]:
    """Return no renamed arguments: names are valid here."""
    return {}
