"""Records in a tool's answer: the keys and names that its server wrote around strangers' texts."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from catalog.words.names import argument_words, singular
from discovery.flow_guard.tool_facts import word_set

_ID = word_set("id identifier key number oid ref uid uuid")
_NAMES = word_set("filename label name subject title")
_ITEM = re.compile(r"- (?P<key>\w+):(?: (?P<value>.*))?$")
_KEY = re.compile(r"(?P<key>\w+):(?: (?P<value>.*))?$")
_MOST_LINES, _MOST_RECORDS, _DEEPEST = 5000, 1000, 6
# Longer keys are text that somebody wrote.
_LONGEST_KEY = 100
_ONLY_TEXT = {str}
T = TypeVar("T")


class Record(NamedTuple):
    """A record's ids and names; `kind` is the noun of an id's key (`event` in `event_id`)."""

    ids: tuple[tuple[str, str], ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParsedResult:
    """An answer's records, texts and keys. Without records, all of it is one text."""

    records: tuple[Record, ...]
    texts: tuple[str, ...]
    # The names of fields.
    keys: tuple[str, ...] = ()
    # What of the texts has sentences, where that is not all of them.
    free_texts: tuple[str, ...] | None = None


def merge(parsed: Sequence[ParsedResult]) -> ParsedResult:
    """Return several results as one, with what they repeat only once."""
    if len(parsed) == 1:
        return parsed[0]
    free: tuple[str, ...] | None = None
    if any(result.free_texts is not None for result in parsed):
        free = _distinct(
            result.texts if result.free_texts is None else result.free_texts for result in parsed
        )
    return ParsedResult(
        _distinct(result.records for result in parsed),
        _distinct(result.texts for result in parsed),
        _distinct(result.keys for result in parsed),
        free,
    )


def _distinct(rows: Iterable[Iterable[T]]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(item for row in rows for item in row))


def parse_result(text: str) -> ParsedResult:
    """Read JSON, or the plain YAML that tools answer with; all else is free text."""
    stripped = text.strip()
    if stripped[:1] in ("{", "["):
        try:
            # Numbers keep their spelling.
            return _from_json(json.loads(stripped, parse_int=str, parse_float=str))
        except (ValueError, RecursionError):
            return ParsedResult((), (text,))
    return _from_yaml(text)


def _from_json(value: Any) -> ParsedResult:
    records: list[Record] = []
    texts: dict[str, None] = {}
    keys: dict[str, None] = {}
    shapes: dict[tuple[str, ...], _Shape] = {}
    waiting = [(value, 0)]
    while waiting:
        part, depth = waiting.pop()
        if isinstance(part, str):
            texts[part] = None
        elif depth > _DEEPEST and isinstance(part, dict | list):
            texts[json.dumps(part, ensure_ascii=False)] = None
        elif isinstance(part, dict):
            # The records of one answer mostly have the same fields.
            fields = tuple(part)
            if (shape := shapes.get(fields)) is None:
                shape = shapes[fields] = _shape_of(fields)
                keys |= dict.fromkeys(fields)
            if shape.ids and len(records) < _MOST_RECORDS and (record := _record(part, shape)):
                records.append(record)
            if set(map(type, part.values())) == _ONLY_TEXT:
                texts |= dict.fromkeys(part.values())
            else:
                waiting += [(inner, depth + 1) for inner in reversed(part.values())]
        elif isinstance(part, list):
            waiting += [(inner, depth + 1) for inner in reversed(part)]
    return ParsedResult(tuple(records), tuple(texts), tuple(keys))


@dataclass(frozen=True, slots=True)
class _Shape:
    """Fields of a record that have its ids, with the nouns of their keys, and its names."""

    ids: tuple[tuple[str, str], ...]
    names: tuple[str, ...]


def _shape_of(fields: Iterable[str]) -> _Shape:
    short = [key for key in fields if len(key) <= _LONGEST_KEY]
    nouns = {key: _noun_of_id(key) for key in short}
    ids = tuple((noun, key) for key, noun in nouns.items() if noun is not None)
    return _Shape(ids, tuple(key for key in short if nouns[key] is None and _is_name(key)))


def _record(fields: Mapping[str, Any], shape: _Shape) -> Record | None:
    ids = [(noun, fields[key]) for noun, key in shape.ids if isinstance(fields[key], str)]
    if not ids:
        return None
    names = [fields[key] for key in shape.names if isinstance(fields[key], str)]
    return Record(tuple(ids), tuple(names))


@lru_cache(maxsize=1024)
def _noun_of_id(key: str) -> str | None:
    """Return the noun of an id's key, "" if it has none; None for other keys."""
    words = argument_words(key)
    if not words or words[-1] not in _ID:
        return None
    return singular(words[-2]) if len(words) > 1 else ""


@lru_cache(maxsize=1024)
def _is_name(key: str) -> bool:
    words = argument_words(key)
    return bool(words) and words[-1] in _NAMES


def _from_yaml(text: str) -> ParsedResult:
    """Read block sequences and mappings by their indentation.

    Only keys at the indentation of the record itself count: lines of a longer text are indented
    deeper, so a text that imitates keys adds none.
    """
    lines = text.splitlines()[:_MOST_LINES]
    listed = bool(lines) and _ITEM.match(lines[0]) is not None
    if not listed and not (lines and _KEY.match(lines[0])):
        return ParsedResult((), (text,))
    rows: list[dict[str, Any]] = [] if listed else [{}]
    free: list[str] = []
    for line in lines:
        item = _ITEM.match(line) if listed else None
        if item:
            rows.append({})
        key_match = item or _own_key(line, listed=listed)
        if key_match:
            value = _scalar(key_match["value"] or "")
            if value is None:
                free.append(line)
            else:
                rows[-1][key_match["key"]] = value
        elif line.strip() and not line.startswith((" ", "- ")):
            return ParsedResult((), (text,))
        else:
            free.append(line)
    records = [
        record for fields in rows[:_MOST_RECORDS] if (record := _record(fields, _shape_of(fields)))
    ]
    return ParsedResult(tuple(records), (text,), (), (" ".join(free),) if free else ())


def _own_key(line: str, *, listed: bool) -> re.Match[str] | None:
    if not listed:
        return _KEY.match(line)
    return _KEY.match(line[2:]) if line.startswith("  ") else None


def _scalar(value: str) -> str | None:
    """Return a short scalar on its own line; None for a sentence, or the start of a longer text."""
    if value[:1] in ("'", '"'):
        if len(value) < 2 or value[-1] != value[0]:
            return None
        value = value[1:-1]
    if value[:1] in ("|", ">", "&", "*", "{", "["):
        return None
    return value
