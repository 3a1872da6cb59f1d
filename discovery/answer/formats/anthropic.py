"""Tool format of Anthropic's Messages API.

Deferred definitions stay out of the model's context, and out of the cached prefix, until a search
returns a reference to them. The search may be a tool of our own: `discover_capabilities`.
Argument names that the API rejects are replaced.
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from catalog.formats.descriptors import JSONObject
from discovery.answer.formats._legal_schema import arguments_schema
from discovery.answer.formats.base import Tool, describe, sort_by_name

LABEL = "Anthropic"
MOST_TOOLS = 10_000  # the provider's limit, with a tool search


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


def render_searchable(
    tools: Iterable[Tool], matches: Sequence[Tool], search: Tool
) -> tuple[list[dict[str, Any]], Any]:
    """Render the search with all tools deferred, and the answer to a search for `matches`."""
    # Every tool that a search refers to must be declared.
    deferred = render_deferred(sort_by_name([*tools, *matches]))
    return [*render([search]), *deferred], search_result(matches)


def search_result(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """Render the content of the `tool_result` that answers a search, in the given order."""
    references = [{"type": "tool_reference", "tool_name": tool.name} for tool in tools]
    return references or [{"type": "text", "text": "Nothing fits."}]


def name_of(full_name: str) -> str:
    """Return the name unchanged: full names are valid here."""
    return full_name


def argument_names(tool: Tool) -> dict[str, str]:
    """Return the renamed arguments: their original names by the valid ones."""
    return map_renamed_keys(arguments_schema(tool.input_schema))


LEGAL = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_LONGEST = 64  # characters of an argument's name, as `LEGAL` says
_HASH = 8


def rename_illegal_keys(schema: JSONObject) -> JSONObject:
    """Return the schema with valid names for its arguments."""
    replacements = {original: legal for legal, original in map_renamed_keys(schema).items()}
    if not replacements:
        return schema
    properties = schema["properties"].items()
    renamed = {replacements.get(name, name): inner for name, inner in properties}
    required = [replacements.get(name, name) for name in schema.get("required", ())]
    return {**schema, "properties": renamed} | ({"required": required} if required else {})


def map_renamed_keys(schema: JSONObject) -> dict[str, str]:
    """Return the original names by their replacements; empty for most schemas."""
    properties = schema.get("properties") or {}
    refused = sorted(name for name in properties if not LEGAL.fullmatch(name))
    names: dict[str, str] = {}
    for name in refused:
        legal = re.sub(r"[^a-zA-Z0-9_.-]+", "_", name).strip("_")[:_LONGEST]
        if not legal or legal in properties or legal in names:
            digest = sha256(name.encode(errors="replace")).hexdigest()[:_HASH]
            legal = f"{legal[: _LONGEST - _HASH - 1]}_{digest}"
        names[legal] = name
    return names
