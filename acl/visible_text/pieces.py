"""A text as pieces: as it stands, or written out in a mark that no text can imitate.

A mark begins with `[U+` or `[xn--`. Where a text itself has one of these, its bracket is written
out, so that the pieces joined together tell any two texts apart.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import regex
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from acl.visible_text.scripts import LOOKS_LIKE, find_foreign, script_of

# Code points that a person does not see, or sees as another, by Unicode's own tables.

NEWLINE, TAB = "\n", "\t"
# What lines and tabs are shown by. As characters of a text they are written out themselves.
SIGNS = {NEWLINE: "↵", TAB: "⇥"}

# The properties are those of the `regex` module, which follows Unicode; Python's tables are older.
_UNSEEN = regex.compile(
    r"\p{Default_Ignorable_Code_Point}|\p{C}|\p{Zl}|\p{Zp}|(?! )[\p{Zs}\p{White_Space}]"
    r"|\p{Bidi_Control}|\p{Variation_Selector}|\p{Noncharacter_Code_Point}"
)
_COMBINING = regex.compile(r"\p{M}")
# Drawn as nothing, or as a space, and yet symbols and marks: no property says so.
_BLANK = frozenset("\u2800\U0001d159\U00016fe4\ufffc\u303e")
_CONTROLS = {
    0x00: "NULL", 0x07: "BELL", 0x08: "BACKSPACE", 0x09: "TAB", 0x0A: "LINE FEED",
    0x0B: "LINE TABULATION", 0x0C: "FORM FEED", 0x0D: "CARRIAGE RETURN", 0x1B: "ESCAPE",
    0x7F: "DELETE", 0x85: "NEXT LINE",
}  # fmt: skip
_LABELS = {"Cc": "CONTROL", "Co": "PRIVATE USE", "Cs": "SURROGATE", "Cn": "UNASSIGNED"}


class _Table(dict[str, bool]):
    """Characters that are always written out, each looked up once."""

    def __missing__(self, character: str) -> bool:
        self[character] = bool(
            _UNSEEN.match(character)
            or character in _BLANK
            or character in SIGNS.values()
            # Drawn exactly as another character, which normalizing would put in its place.
            or unicodedata.normalize("NFC", character) != character
        )
        return self[character]


_WRITTEN_OUT = _Table()


def is_written_out(character: str) -> bool:
    """Return whether the character never stands for itself. Line feeds and tabs have signs."""
    return _WRITTEN_OUT[character]


def is_combining(character: str) -> bool:
    """Return whether the character is drawn onto the one before it."""
    return not character.isascii() and bool(_COMBINING.match(character))


def name_of(character: str) -> str:
    """Return the character's name, or the kind of code point where it has none."""
    code = ord(character)
    if name := _CONTROLS.get(code) or unicodedata.name(character, ""):
        return name
    if code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF:
        return "NONCHARACTER"
    return _LABELS.get(unicodedata.category(character), "UNNAMED")


def notation_of(character: str) -> str:
    """Return the code point as `U+200B`."""
    return f"U+{ord(character):04X}"


Kind = Literal["plain", "line", "hidden", "foreign", "decoded"]

MOST_MARKS = 3  # combining marks on one letter
_ORDINARY = re.compile(r"[\n\x20-\x7e]*")
_SUSPECT = re.compile(r"\[U\+|\[xn--|xn--", re.IGNORECASE)
_MARK_START = re.compile(r"\[(?:U\+|xn--)", re.IGNORECASE)
_PUNYCODE = re.compile(r"(?<![A-Za-z0-9-])xn--[A-Za-z0-9-]{1,59}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text; `kind` says whether `text` is the part itself or a mark in its place."""

    text: str
    kind: Kind = "plain"


def split_into_pieces(text: str) -> list[Piece]:
    """Return the text as pieces. Lines end in a `line` piece, which has the line feed in it."""
    if _ORDINARY.fullmatch(text) and not _SUSPECT.search(text):
        first, *others = text.split("\n")
        pieces = [Piece(first)]
        for line in others:
            pieces += [Piece(SIGNS["\n"] + "\n", "line"), Piece(line)]
        return [piece for piece in pieces if piece.text]
    return list(_merged(_pieces(text)))


def join_pieces(pieces: list[Piece]) -> str:
    """Return the pieces as one text."""
    return "".join(piece.text for piece in pieces)


def show_text(text: str) -> str:
    """Return the text with marks in it."""
    return join_pieces(split_into_pieces(text))


def _pieces(text: str) -> Iterator[Piece]:
    foreign, decoded = find_foreign(text), dict(_decoded_labels(text))
    unseen = _unseen(text)
    folded = "".join(character if len(character) == 1 else "?" for character in map(_fold, text))
    forged = {match.start() for match in _MARK_START.finditer(folded)}
    at = 0
    while at < len(text):
        character = text[at]
        end = at + 1
        if character in SIGNS:
            kind: Kind = "line" if character == "\n" else "hidden"
            yield Piece(SIGNS[character] + character, kind)
        elif at in foreign and at not in unseen:
            while end < len(text) and end in foreign and end not in unseen:
                end += 1
            yield Piece(_foreign_mark(text[at:end]), "foreign")
        elif at in unseen or at in forged:
            while end < len(text) and text[end] == character and (end in unseen or end in forged):
                end += 1
            yield Piece(_mark(character, end - at), "hidden")
        else:
            yield Piece(character)
        if any(place in decoded for place in range(at + 1, end + 1)):
            yield Piece(
                next(decoded[at] for at in range(at + 1, end + 1) if at in decoded), "decoded"
            )
        at = end


def _unseen(text: str) -> set[int]:
    """Return the positions of characters without a shape of their own."""
    unseen, marks, composes = set(), 0, not unicodedata.is_normalized("NFC", text)
    for at, character in enumerate(text):
        if not is_combining(character):
            marks = 0
            if is_written_out(character) and character not in SIGNS:
                unseen.add(at)
            continue
        before = text[at - 1] if at else ""
        # On nothing but a blank, or our own quotation mark.
        bare = not before or before.isspace() or (is_written_out(before) and marks == 0)
        marks += 1
        if (
            bare
            or marks > MOST_MARKS
            or is_written_out(character)
            or (composes and len(unicodedata.normalize("NFC", before + character)) == 1)
        ):
            unseen.add(at)
    return unseen


def _fold(character: str) -> str:
    if character.isascii():
        return character
    return LOOKS_LIKE.get(character) or unicodedata.normalize("NFKC", character)


def _mark(character: str, count: int) -> str:
    times = f" ×{count}" if count > 1 else ""  # noqa: RUF001 - the sign of multiplication
    return f"[{notation_of(character)} {name_of(character)}{times}]"


def _foreign_mark(letters: str) -> str:
    if len(letters) == 1:
        return _mark(letters, 1)
    scripts = sorted({script_of(letter) for letter in letters} - {"COMMON", "INHERITED"})
    return f"[{' '.join(map(notation_of, letters))} {' '.join(scripts)} {letters}]".replace(
        "  ", " "
    )


def _decoded_labels(text: str) -> Iterator[tuple[int, str]]:
    """Return the end of each Punycode label, with the decoded text."""
    for match in _PUNYCODE.finditer(text):
        try:
            label = match[0][4:].encode("ascii").decode("punycode")
        except (UnicodeError, ValueError):
            label = ""
        yield match.end(), f"[xn-- {_described(label)}]"


def _described(label: str) -> str:
    if not label or not all(
        (character.isalnum() or is_combining(character) or character in "-·")
        and not is_written_out(character)
        for character in label
    ):
        return "does not decode to a name"
    scripts = sorted(
        {script_of(character) for character in label if character.isalpha()}
        - {"COMMON", "INHERITED"}
    )
    return f"stands for {label} in {' and '.join(scripts) or 'no script'}"


def _merged(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Merge neighbouring plain pieces."""
    plain: list[str] = []
    for piece in pieces:
        if piece.kind == "plain":
            plain.append(piece.text)
            continue
        if plain:
            yield Piece("".join(plain))
            plain = []
        yield piece
    if plain:
        yield Piece("".join(plain))


# Names of accounts, groups, keys and spaces: approvals and the audit log show them to people.

_REFUSED = _(
    "This name has characters that are invisible or look like others: %(shown)s. "
    "Use letters of one alphabet."
)


def check_plain_name(name: str) -> None:
    """Raise ValidationError for a name that a person could take for another one.

    A name may be in any alphabet. It may not mix alphabets within a word, imitate Latin letters, or
    have hidden characters.
    """
    visible = show_text(name)
    if visible != name:
        raise ValidationError(_REFUSED % {"shown": visible}, code="imitation")
