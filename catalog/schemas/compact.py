"""Compact JSON schemas: annotations removed, accepted values unchanged."""

from collections.abc import Callable
from typing import Any

from catalog.schemas.positions import NAMED, ONE, SEVERAL, find_keywords, find_references

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
