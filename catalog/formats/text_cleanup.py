"""Takes out what a model reads and a person does not see: hidden characters in any text of a
definition.

Unicode's format, control, private, surrogate and unassigned characters and the variation selectors
go, newlines and tabs stay, and terminal colour sequences go as a whole.
"""

import re
import unicodedata
from typing import Any, NamedTuple

from catalog.trust.hidden_characters import count_spelling

_HIDDEN_CATEGORIES = frozenset({"Cf", "Cc", "Co", "Cs", "Cn"})
_KEPT = frozenset("\n\t")
_ESCAPES = frozenset("\x1b\x9b")
_PLAIN = re.compile(r"[\n\t\x20-\x7e]*")
_TERMINAL_SEQUENCE = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]")


class Cleaned(NamedTuple):
    """A text that shows all it says, and how many hidden characters were in it. Those that emoji
    and scripts are written with are taken out, too, and not counted."""

    text: str
    hidden: int


class AmbiguousKeysError(ValueError):
    """Two keys of one mapping differ in hidden characters only."""


class _VisibleCharacters(dict[int, int | None]):
    """A table for str.translate that looks each character up once."""

    def __missing__(self, codepoint: int) -> int | None:
        self[codepoint] = None if _is_hidden(chr(codepoint)) else codepoint
        return self[codepoint]


def _is_hidden(character: str) -> bool:
    if character in _KEPT or character in _ESCAPES:
        return False
    if "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef":
        return True
    return unicodedata.category(character) in _HIDDEN_CATEGORIES


_VISIBLE = _VisibleCharacters()


def clean_text(text: str) -> Cleaned:
    """The text as a person sees it. A line end of \\r\\n becomes \\n and does not count as
    hidden."""
    if _PLAIN.fullmatch(text):
        return Cleaned(text, 0)
    unix = text.replace("\r\n", "\n")
    # The sequences go after the invisible characters, which could otherwise be put inside one to
    # break it up.
    visible = _TERMINAL_SEQUENCE.sub("", unix.translate(_VISIBLE))
    visible = visible.replace("\x1b", "").replace("\x9b", "")
    removed = len(unix) - len(visible)
    return Cleaned(visible, removed and removed - count_spelling(unix))


def clean_name(text: str) -> Cleaned:
    """A name on one line, with look-alike forms of the same letter (full width, ligatures) made
    one."""
    visible, hidden = clean_text(text)
    folded, more = clean_text(unicodedata.normalize("NFKC", visible))
    return Cleaned(" ".join(folded.split()), hidden + more)


def clean_value(value: Any) -> tuple[Any, int]:
    """A JSON value with every text in it cleaned, keys too, and the number of hidden characters
    removed.

    The value's depth is bounded by whoever read it.
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return _clean_mapping(value)
    if isinstance(value, (list, tuple)):
        cleaned = [clean_value(inner) for inner in value]
        return [inner for inner, _ in cleaned], sum(hidden for _, hidden in cleaned)
    return value, 0


def _clean_mapping(value: dict[Any, Any]) -> tuple[dict[str, Any], int]:
    result: dict[str, Any] = {}
    total = 0
    for key, inner in value.items():
        clean_key, hidden_in_key = clean_text(str(key))
        if clean_key in result:
            raise AmbiguousKeysError(
                f"two keys read {clean_key!r} once hidden characters are removed"
            )
        result[clean_key], hidden = clean_value(inner)
        total += hidden_in_key + hidden
    return result, total
