"""Compact JSON schemas: annotations removed, accepted values unchanged."""

from collections.abc import Callable, Iterator
from typing import Any

from catalog.formats.usable_schema import REFERENCES, parse_pointer

# Positions of subschemas in a JSON schema.
#
# `description` may be a keyword or the name of an argument; only its position tells.

# Keywords holding one schema; in older drafts `items` may also hold a list.
ONE = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
SEVERAL = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
NAMED = frozenset(
    {
        "$defs",
        "definitions",
        "dependencies",
        "dependentSchemas",
        "patternProperties",
        "properties",
    }
)


def find_keywords(reference: str) -> set[str]:
    """Return the keywords a reference passes through, wherever it starts.

    Property names do not count, and neither does anything below a keyword's value.
    """
    keywords = set()
    steps = parse_pointer(reference)
    place = 0
    while place < len(steps):
        keyword = steps[place]
        keywords.add(keyword)
        if keyword not in NAMED | SEVERAL | ONE:
            break
        # True if a name or an index follows the keyword.
        following = steps[place + 1 : place + 2]
        place += (
            2
            if (
                following != [] and following[0].isdigit()
                if keyword == "items"
                else keyword not in ONE
            )
            else 1
        )
    return keywords


def find_references(value: Any) -> Iterator[str]:
    """Yield every reference below the value, without recursion."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            yield from (inner[name] for name in REFERENCES if isinstance(inner.get(name), str))
            waiting.extend(inner.values())
        elif isinstance(inner, list):
            waiting.extend(inner)


# Deeper than any stored schema; deeper parts stay unchanged.
MAX_DEPTH = 40
# The type each keyword must have. A value of another type may be a misplaced argument, and stays.
_ANNOTATIONS: dict[str, Callable[[Any], bool]] = {
    "$comment": lambda value: isinstance(value, str),
    "$schema": lambda value: isinstance(value, str),
    "description": lambda value: isinstance(value, str),
    "title": lambda value: isinstance(value, str),
    "examples": lambda value: isinstance(value, list),
    "example": lambda value: not isinstance(value, dict),
}


def compact(schema: Any) -> Any:
    """Remove descriptions, titles, examples, comments and `$schema`."""
    # A `$ref` may lead through one of these keywords: then the keyword stays everywhere.
    referenced = {
        word for reference in find_references(schema) for word in find_keywords(reference)
    }
    return _strip(schema, _ANNOTATIONS.keys() - referenced, MAX_DEPTH)


def _strip(schema: Any, words: set[str], depth: int) -> Any:
    if not isinstance(schema, dict) or not depth:
        return schema
    return {
        name: _strip_value(name, value, words, depth - 1)
        for name, value in schema.items()
        if not (name in words and _ANNOTATIONS[name](value))
    }


def _strip_value(keyword: str, value: Any, words: set[str], depth: int) -> Any:
    if isinstance(value, dict) and keyword in NAMED:
        return {name: _strip(inner, words, depth) for name, inner in value.items()}
    if isinstance(value, list) and keyword in SEVERAL:
        return [_strip(inner, words, depth) for inner in value]
    return _strip(value, words, depth) if keyword in ONE else value
