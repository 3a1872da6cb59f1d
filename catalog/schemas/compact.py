"""A schema without the words for people: it accepts exactly what it accepted before."""

from collections.abc import Callable
from typing import Any

from catalog.schemas.positions import NAMED, ONE, SEVERAL, keywords_in, references_in

# Deeper than any schema of the catalogue; what lies below stays as it is.
DEEPEST = 40
# How each looks where it is a keyword: one that looks otherwise is perhaps an argument whose place
# is wrong, and stays.
_WORDS: dict[str, Callable[[Any], bool]] = {
    "$comment": lambda value: isinstance(value, str),
    "$schema": lambda value: isinstance(value, str),
    "description": lambda value: isinstance(value, str),
    "title": lambda value: isinstance(value, str),
    "examples": lambda value: isinstance(value, list),
    "example": lambda value: not isinstance(value, dict),
}


def compact(schema: Any) -> Any:
    """The schema without descriptions, titles, examples, comments and `$schema`.

    A reference may lead through one of these words: it then stays everywhere.
    """
    kept = {word for reference in references_in(schema) for word in keywords_in(reference)}
    return _compacted(schema, _WORDS.keys() - kept, DEEPEST)


def _compacted(schema: Any, words: set[str], depth: int) -> Any:
    if not isinstance(schema, dict) or not depth:
        return schema
    return {
        name: _inner(name, value, words, depth - 1)
        for name, value in schema.items()
        if not (name in words and _WORDS[name](value))
    }


def _inner(keyword: str, value: Any, words: set[str], depth: int) -> Any:
    if isinstance(value, dict) and keyword in NAMED:
        return {name: _compacted(inner, words, depth) for name, inner in value.items()}
    if isinstance(value, list) and keyword in SEVERAL:
        return [_compacted(inner, words, depth) for inner in value]
    return _compacted(value, words, depth) if keyword in ONE else value
