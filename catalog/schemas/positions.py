"""Positions of subschemas in a JSON schema.

`description` may be a keyword or the name of an argument; only its position tells.
"""

from collections.abc import Iterator
from typing import Any

from catalog.formats.usable_schema import REFERENCES, parse_pointer

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
        place += 2 if _has_places(keyword, steps[place + 1 : place + 2]) else 1
    return keywords


def _has_places(keyword: str, following: list[str]) -> bool:
    """Return True if a name or an index follows the keyword."""
    if keyword == "items":
        return following != [] and following[0].isdigit()
    return keyword not in ONE


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
