"""The tools of OpenAI's Chat Completions API, which many other servers speak too."""

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
            "function": {
                "name": tool.name,
                "description": described(tool),
                "parameters": arguments_schema(tool.input_schema),
                # Strict takes only a part of JSON Schema and refuses the rest.
                "strict": False,
            },
        }
        for tool in tools
    ]


def name_of(full_name: str) -> str:
    """Full names are legal here."""
    return full_name


def argument_names(tool: Tool) -> dict[str, str]:
    """Arguments keep their names."""
    return {}
