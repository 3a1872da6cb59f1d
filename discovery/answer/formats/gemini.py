"""Tool format of Google's Gemini API.

`parametersJsonSchema` takes JSON Schema as it is; `parameters` accepts only a subset.
"""

from collections.abc import Sequence
from typing import Any

from discovery.answer.formats._legal_schema import arguments_schema
from discovery.answer.formats.base import Tool, describe

LABEL = "Gemini"
MOST_TOOLS = 128  # the provider's limit


def render(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Render the value of `tools`: one entry with all declarations, or none."""
    declarations = [
        {
            "name": name_of(tool.name),
            "description": describe(tool),
            "parametersJsonSchema": arguments_schema(tool.input_schema),
        }
        for tool in tools
    ]
    return [{"functionDeclarations": declarations}] if declarations else []


def name_of(full_name: str) -> str:
    """Prefix names that do not begin with a letter with an underscore."""
    # That includes names with a leading underscore, so that no two names collide. Full names have
    # at most 64 characters, Gemini's at most 128.
    return full_name if full_name[0].isalpha() else f"_{full_name}"


def argument_names(tool: Tool) -> dict[str, str]:
    """Return no renamed arguments: names are valid here."""
    return {}
