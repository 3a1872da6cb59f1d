"""Differences between two definitions, for display: pure and bounded.

Hidden characters are spelled out, so that reviewers see everything.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from catalog.formats.descriptors import JSONObject

# Likeness of definitions under different names: a rename, or a copy, of a tool. Pure.
#
# A name says nothing about what a tool does, so a server could shed a deny by another name.
# Compared is all that a model would act on: the words of its texts, and its arguments.

# Of 1,500 real tools with two words and a sentence changed and an argument added, 69 % are at least
# ALIKE: for a name that is gone, a needless look costs little. Of 5,318 tools, 6 % have another of
# their own server that is a TWIN.
ALIKE, TWIN = 0.5, 0.9
_WORD = re.compile(r"[^\W_]+")
_TEXTS = ("description", "content")
_DEEPEST = 6


@dataclass(frozen=True, slots=True)
class DefinitionFeatures:
    """Words of a definition, and the paths and types of its arguments."""

    words: frozenset[str]
    arguments: frozenset[str]


def features_of(definition: JSONObject) -> DefinitionFeatures:
    """Return the features of a definition, whatever its name."""
    words = {word for key in _TEXTS for word in _words_of(str(definition.get(key) or ""))}
    arguments = _arguments(definition.get("inputSchema"), "", 0)
    return DefinitionFeatures(frozenset(words), frozenset(arguments))


def likeness(first: DefinitionFeatures, second: DefinitionFeatures) -> float:
    """Return how alike two definitions are, from 0 to 1, in either order."""
    mine, theirs = (features.words | features.arguments for features in (first, second))
    return len(mine & theirs) / len(mine | theirs) if mine or theirs else 1.0


def find_like(
    new: JSONObject, features_by_name: Mapping[str, DefinitionFeatures], *, at_least: float = ALIKE
) -> str:
    """Return the name of the definition most like a new one, or "" if none is alike.

    Of several that are as alike it is the last one: in a chain of renames, the newest name.
    """
    mine = features_of(new)
    best = max(
        ((likeness(mine, theirs), name) for name, theirs in reversed([*features_by_name.items()])),
        key=lambda pair: pair[0],
        default=(0.0, ""),
    )
    return best[1] if best[0] >= at_least else ""


def _words_of(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _arguments(schema: Any, path: str, depth: int) -> Iterator[str]:
    """Yield the path and type of each argument."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        at = f"{path}.{name}".casefold()
        kind = inner.get("type") if isinstance(inner, dict) else None
        yield f"{at}:{kind}"
        yield from _arguments(inner, at, depth + 1)
    yield from _arguments(schema.get("items"), f"{path}[]", depth + 1)


# The catalogue cuts descriptions at 8 kB, so no model sees later text.
LONGEST_TEXT, MOST_LINES, MOST_WORDS = 10_000, 1_500, 1_500
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_LABELS = {
    "title": gettext_noop("Title"),
    "description": gettext_noop("Description"),
    "annotations": gettext_noop("Annotations"),
    "icons": gettext_noop("Icons"),
    "_meta": gettext_noop("Details for clients"),
    "inputSchema": gettext_noop("Arguments"),
    "outputSchema": gettext_noop("Result"),
    # Of definitions from other origins than servers.
    "content": gettext_noop("Instructions"),
    "examples": gettext_noop("Examples"),
    "category": gettext_noop("Category"),
    "tags": gettext_noop("Tags"),
    "requiredSecrets": gettext_noop("Required secrets"),
    "requiredTools": gettext_noop("Required tools"),
    "edges": gettext_noop("Relations"),
    # Of integrations.
    "publisher": gettext_noop("Publisher"),
    "version": gettext_noop("Version"),
    "licence": gettext_noop("Licence"),
    "homepage": gettext_noop("Homepage"),
}
_FOLDED = frozenset({"inputSchema", "outputSchema"})

Kind = Literal["same", "changed", "out", "in"]


@dataclass(frozen=True, slots=True)
class DiffPiece:
    """Some words; `marked` if the other side differs."""

    text: str
    marked: bool = False


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of both sides; a missing side is empty."""

    kind: Kind
    before: tuple[DiffPiece, ...] = ()
    after: tuple[DiffPiece, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field; `folded` if it is long and rarely read."""

    label: str
    is_changed: bool
    folded: bool
    lines: tuple[DiffLine, ...]
    left_out: int = 0

    @property
    def before(self) -> str:
        """Return the left side as one text."""
        return _join_lines(line.before for line in self.lines if line.before)

    @property
    def after(self) -> str:
        """Return the right side as one text."""
        return _join_lines(line.after for line in self.lines if line.after)


def compare(before: JSONObject, after: JSONObject) -> list[FieldDifference]:
    """Compare all fields of both sides, changed ones first."""
    differences = [
        _field(name, before.get(name), after.get(name))
        for name in _LABELS
        if name in before or name in after
    ]
    return sorted(differences, key=lambda difference: not difference.is_changed)


def visible(text: str) -> str:
    """Spell out hidden characters as code points."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(_spell_out(character) for character in text)


def _join_lines(lines: Iterable[tuple[DiffPiece, ...]]) -> str:
    return "\n".join("".join(piece.text for piece in line) for line in lines)


def _spell_out(character: str) -> str:
    code = ord(character)
    is_selector = 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF
    if character in "\n\t" or not (
        is_selector or unicodedata.category(character) in {"Cf", "Cc", "Co", "Cs", "Cn"}
    ):
        return character
    return f"⟨U+{code:04X}⟩"


def _field(name: str, before: Any, after: Any) -> FieldDifference:
    old, new = _text(before), _text(after)
    old_lines, new_lines = old[:LONGEST_TEXT].split("\n"), new[:LONGEST_TEXT].split("\n")
    lines = tuple(_lines(old_lines if old else [], new_lines if new else []))
    left_out = max(0, len(old) - LONGEST_TEXT, len(new) - LONGEST_TEXT, len(lines) - MOST_LINES)
    return FieldDifference(
        _(_LABELS[name]), old != new, name in _FOLDED, lines[:MOST_LINES], left_out
    )


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return visible(value)
    return visible(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False))


def _lines(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffLine]:
    matcher = SequenceMatcher(None, before, after)
    for what, a, b, c, d in matcher.get_opcodes():
        if what == "equal":
            for text in before[a:b]:
                yield DiffLine("same", (DiffPiece(text),), (DiffPiece(text),))
            continue
        paired = min(b - a, d - c)
        for old, new in zip(before[a : a + paired], after[c : c + paired], strict=True):
            yield DiffLine("changed", *_words(old, new))
        for old in before[a + paired : b]:
            yield DiffLine("out", (DiffPiece(old, marked=True),), ())
        for new in after[c + paired : d]:
            yield DiffLine("in", (), (DiffPiece(new, marked=True),))


def _words(before: str, after: str) -> tuple[tuple[DiffPiece, ...], tuple[DiffPiece, ...]]:
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if len(old) > MOST_WORDS or len(new) > MOST_WORDS:
        return (DiffPiece(before, marked=True),), (DiffPiece(after, marked=True),)
    out: list[DiffPiece] = []
    into: list[DiffPiece] = []
    for what, a, b, c, d in SequenceMatcher(None, old, new).get_opcodes():
        marked = what != "equal"
        out += [DiffPiece("".join(old[a:b]), marked)] if b > a else []
        into += [DiffPiece("".join(new[c:d]), marked)] if d > c else []
    return tuple(out), tuple(into)
