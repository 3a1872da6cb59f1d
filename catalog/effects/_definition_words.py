"""Definitions as the classifier reads them, and their words."""

import re
from collections.abc import Mapping
from typing import Any, Protocol

from catalog.words.names import split_words

# The start says what a tool does; the rest explains arguments and errors.
_MOST_TEXT = 600
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n\s*\n|\n\s*[-•*]|\bArgs:|\bParameters:|\bReturns:")


class Classifiable(Protocol):
    """The fields shared by descriptors and stored capabilities."""

    @property
    def kind(self) -> str: ...
    @property
    def action(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def input_schema(self) -> Mapping[str, Any] | None: ...
    @property
    def annotations(self) -> Mapping[str, Any]: ...


def first_sentence(description: str) -> list[str]:
    """Return the words of the first sentence with words."""
    for sentence in _SENTENCE_END.split(description.strip()[:_MOST_TEXT]):
        words = split_words(sentence or "")
        if words:
            return words[:60]
    return []


def property_names(schema: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the names of the arguments."""
    properties = (schema or {}).get("properties")
    return tuple(map(str, properties)) if isinstance(properties, Mapping) else ()
