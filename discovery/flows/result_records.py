"""Records in a tool's answer: the keys and names that its server wrote around strangers' texts."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from catalog.formats.categories import split_words
from discovery.flows.tool_facts import singular, word_set
from discovery.flows.value_forms import words_of

_ID = word_set("id identifier key number oid ref uid uuid")
_NAMES = word_set("filename label name subject title")
_ITEM = re.compile(r"- (?P<key>\w+):(?: (?P<value>.*))?$")
_KEY = re.compile(r"(?P<key>\w+):(?: (?P<value>.*))?$")
_MOST_LINES, _MOST_RECORDS, _DEEPEST = 5000, 1000, 6
# Longer strings are sentences that somebody wrote.
_SHORT_WORDS = 3


@dataclass(frozen=True, slots=True)
class Record:
    """A record's ids and names; `kind` is the noun of an id's key (`event` in `event_id`)."""

    ids: tuple[tuple[str, str], ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParsedResult:
    """An answer's records, and the sentences in it. Without records, all of it is free text."""

    records: tuple[Record, ...]
    free_texts: tuple[str, ...]


def parse_result(text: str) -> ParsedResult:
    """Read JSON, or the plain YAML that tools answer with; all else is free text."""
    stripped = text.strip()
    if stripped[:1] in ("{", "["):
        try:
            return _from_json(json.loads(stripped))
        except (ValueError, RecursionError):
            return ParsedResult((), (text,))
    return _from_yaml(text)


def _from_json(value: Any) -> ParsedResult:
    records, texts = [], []
    for fields in _mappings(value, 0):
        if record := _record(fields):
            records.append(record)
        if len(records) >= _MOST_RECORDS:
            break
    for leaf in _strings(value, 0):
        if len(words_of(leaf)) > _SHORT_WORDS:
            texts.append(leaf)
    return ParsedResult(tuple(records), tuple(texts))


def _mappings(value: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        yield value
        for part in value.values():
            yield from _mappings(part, depth + 1)
    elif isinstance(value, list):
        for part in value:
            yield from _mappings(part, depth + 1)


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and depth < _DEEPEST:
        for part in value.values():
            yield from _strings(part, depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        for part in value:
            yield from _strings(part, depth + 1)
    elif isinstance(value, dict | list):
        yield json.dumps(value)


def _record(fields: Mapping[str, Any]) -> Record | None:
    ids, names = [], []
    for key, value in fields.items():
        if isinstance(value, bool) or not isinstance(value, str | int):
            continue
        words = split_words(key)
        last = words[-1] if words else ""
        if last in _ID:
            ids.append((singular(words[-2]) if len(words) > 1 else "", str(value)))
        elif last in _NAMES:
            names.append(str(value))
    return Record(tuple(ids), tuple(names)) if ids else None


def _from_yaml(text: str) -> ParsedResult:
    """Read block sequences and mappings by their indentation.

    Only keys at the indentation of the record itself count: lines of a longer text are indented
    deeper, so a text that imitates keys adds none.
    """
    lines = text.splitlines()[:_MOST_LINES]
    listed = bool(lines) and _ITEM.match(lines[0]) is not None
    if not listed and not (lines and _KEY.match(lines[0])):
        return ParsedResult((), (text,))
    found: list[dict[str, Any]] = [] if listed else [{}]
    free: list[str] = []
    for line in lines:
        item = _ITEM.match(line) if listed else None
        if item:
            found.append({})
        own = item or _own_key(line, listed=listed)
        if own:
            value = _scalar(own["value"] or "")
            if value is None:
                free.append(line)
            else:
                found[-1][own["key"]] = value
        elif line.strip() and not line.startswith((" ", "- ")):
            return ParsedResult((), (text,))
        else:
            free.append(line)
    records = [record for fields in found[:_MOST_RECORDS] if (record := _record(fields))]
    return ParsedResult(tuple(records), (" ".join(free),) if free else ())


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
