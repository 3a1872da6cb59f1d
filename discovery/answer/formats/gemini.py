"""The tools of Google's Gemini API.

`parametersJsonSchema` takes JSON Schema as it is; `parameters` takes only a part of it and refuses
the rest.
"""

from collections.abc import Sequence
from typing import Any

from discovery.answer.formats.format_base import Tool, described
from discovery.answer.formats.legal_schema import arguments_schema

MOST_TOOLS = 128


def render(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """The value of `tools`: one entry with all declarations, or none."""
    declarations = [
        {
            "name": name_of(tool.name),
            "description": described(tool),
            "parametersJsonSchema": arguments_schema(tool.input_schema),
        }
        for tool in tools
    ]
    return [{"functionDeclarations": declarations}] if declarations else []


def name_of(full_name: str) -> str:
    """Gemini wants a letter or an underscore first; anything else gets an underscore in front.

    So does what begins with an underscore itself: then no two names become one. The longest full
    name has 64 characters, and Gemini takes 128.
    """
    return full_name if full_name[0].isalpha() else f"_{full_name}"


def argument_names(tool: Tool) -> dict[str, str]:
    """Arguments keep their names."""
    return {}
