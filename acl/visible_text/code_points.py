"""Code points that a person does not see, or sees as another, by Unicode's own tables."""

import unicodedata

import regex

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
