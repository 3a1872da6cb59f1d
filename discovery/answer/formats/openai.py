"""Tool format of OpenAI's Chat Completions API, which many other servers support."""

from collections.abc import Sequence
from typing import Any

from discovery.answer.formats._legal_schema import arguments_schema
from discovery.answer.formats.base import Tool, describe

LABEL = "OpenAI"
MOST_TOOLS = 128  # the provider's limit


def render(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Render the value of `tools`."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": describe(tool),
                "parameters": arguments_schema(tool.input_schema),
                # Strict mode accepts only a subset of JSON Schema.
                "strict": False,
            },
        }
        for tool in tools
    ]


def name_of(full_name: str) -> str:
    """Return the name unchanged: full names are valid here."""
    return full_name


def argument_names(tool: Tool) -> dict[str, str]:
    """Return no renamed arguments: names are valid here."""
    return {}
