"""Harmless calls: of tools that only read, with arguments that their schemas give themselves."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MOST_CALLS = 3
_MOST_REQUIRED = 5
# Many descriptions give an example: (e.g., 'America/New_York').
_EXAMPLE = re.compile(r"""e\.g\.,? *["'`]([^"'`]{1,100})["'`]""")
_HARMLESS_FLAGS = frozenset({"returns_foreign_text", "reads_private_data"})


def choose_calls(tools: Sequence[Mapping[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Return full names with arguments, those with the fewest required arguments first."""
    found = [
        (str(tool["full_name"]), arguments)
        for tool in tools
        if is_harmless(tool) and (arguments := fill_required(tool.get("input_schema"))) is not None
    ]
    return sorted(found, key=lambda one: (len(one[1]), one[0]))[:MOST_CALLS]


def is_harmless(tool: Mapping[str, Any]) -> bool:
    """Return True if the tool only reads, as far as its definition says."""
    flags = set(tool.get("effect_flags") or ())
    return tool.get("side_effect") == "read" and flags <= _HARMLESS_FLAGS


def fill_required(schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return values for the required arguments; None if the schema suggests none for one."""
    schema = schema or {}
    required = schema.get("required") or []
    if len(required) > _MOST_REQUIRED:
        return None
    properties = schema.get("properties") or {}
    arguments = {}
    for name in required:
        value = next(_suggestions(properties.get(name) or {}), None)
        if value is None:
            return None
        arguments[str(name)] = value
    return arguments


def _suggestions(schema: Any) -> Iterator[Any]:
    """Yield the values that a schema names for itself, the best first."""
    if not isinstance(schema, dict):
        return
    for keyword in ("default", "const"):
        if schema.get(keyword) is not None:
            yield schema[keyword]
    for keyword in ("examples", "enum"):
        yield from (one for one in schema.get(keyword) or () if one is not None)
    if schema.get("type") == "string":
        yield from _EXAMPLE.findall(str(schema.get("description", "")))[:1]
    if schema.get("type") == "boolean":
        yield False
    if schema.get("type") in ("integer", "number") and "minimum" in schema:
        yield schema["minimum"]
