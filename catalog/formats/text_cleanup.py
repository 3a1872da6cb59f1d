"""Removal of hidden characters: what a model would read and a person does not see.

Unicode's format, control, private, surrogate and unassigned characters and the variation selectors
are removed, and terminal colour sequences as a whole. Newlines and tabs stay.
"""

import re
import unicodedata
from typing import Any, NamedTuple

import regex

# Patterns of hidden characters, by purpose.
#
# The kinds are Unicode's properties, as the package regex has them.

ESCAPES = regex.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|[\x1b\x9b]")
# The group that matches is the kind.
HIDDEN = regex.compile(
    r"""(?xV1)
    (?P<tag_characters> \p{Block=Tags})
  | (?P<bidi_override> [\p{Bidi_Control}--[\u061c\u200e\u200f]])
  | (?P<variation_selector> [\p{Block=Variation_Selectors}\p{Block=Variation_Selectors_Supplement}])
  | (?P<zero_width> \p{Cf})
  | (?P<control_character> [\p{Cc}--[\n\t]])
  | (?P<private_use> [\p{Co}\p{Cs}\p{Cn}])
    """
)
# Signs that take a selector of emoji or text style. Some writers put one behind an arrow, too.
_EMOJI = regex.compile(
    r"[\p{Emoji}\p{Extended_Pictographic}\p{Block=Arrows}\p{Block=Dingbats}\p{Block=Geometric_Shapes}]"
)
# Blocks of scripts whose spelling uses joiners. The property Script_Extensions would take accents
# for theirs, and so let joiners through behind Latin letters.
_JOINING = regex.compile(
    r"[\u0590-\u08ff\u0900-\u0dff\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1800-\u18af]"
)


def count_spelling(text: str) -> int:
    """Count hidden characters that emoji or scripts need."""
    rest = ESCAPES.sub("", text)
    return sum(
        is_spelling(str(match.lastgroup), rest, match.start()) for match in HIDDEN.finditer(rest)
    )


def is_spelling(kind: str, text: str, place: int) -> bool:
    """Return True for a legitimate use of a hidden character.

    Legitimate are an emoji's selector or joiner, a script's joiner or direction mark, a soft hyphen
    within a word, and a byte order mark at the start.
    """
    before = text[place - 1] if place else ""
    after = text[place + 1 : place + 2]
    character = text[place]
    if kind == "variation_selector":
        return character in "\ufe0e\ufe0f" and bool(_EMOJI.match(before))
    if kind != "zero_width":
        return False
    if character == "\u00ad":
        return before.isalpha() and after.isalpha()
    if character == "\ufeff":
        return place == 0
    if character == "\u200d" and _EMOJI.match(after):
        return bool(_EMOJI.match(before)) or before == "\ufe0f"
    around = _JOINING.match(before) or _JOINING.match(after)
    return character in "\u200c\u200d\u200e\u200f\u061c" and bool(around)


_HIDDEN_CATEGORIES = frozenset({"Cf", "Cc", "Co", "Cs", "Cn"})
_ALLOWED_CONTROLS = frozenset("\n\t")
_ESCAPES = frozenset("\x1b\x9b")
_PLAIN = re.compile(r"[\n\t\x20-\x7e]*")
_TERMINAL_SEQUENCE = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]")


class Cleaned(NamedTuple):
    """A visible text, and the number of hidden characters removed.

    Characters that emoji and some scripts need are removed too, but not counted.
    """

    text: str
    hidden: int


class AmbiguousKeysError(ValueError):
    """Two keys of one mapping differ only in hidden characters."""


class _VisibleCharacters(dict[int, int | None]):
    """A lazily filled table for str.translate."""

    def __missing__(self, codepoint: int) -> int | None:
        self[codepoint] = None if _is_hidden(chr(codepoint)) else codepoint
        return self[codepoint]


def _is_hidden(character: str) -> bool:
    if character in _ALLOWED_CONTROLS or character in _ESCAPES:
        return False
    if "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef":
        return True
    return unicodedata.category(character) in _HIDDEN_CATEGORIES


_VISIBLE = _VisibleCharacters()


def clean_text(text: str) -> Cleaned:
    """Remove hidden characters.

    Line ends \\r\\n become \\n and do not count as hidden.
    """
    if _PLAIN.fullmatch(text):
        return Cleaned(text, 0)
    unix = text.replace("\r\n", "\n")
    # Remove sequences after invisible characters: one hidden inside a sequence would break it up.
    visible = _TERMINAL_SEQUENCE.sub("", unix.translate(_VISIBLE))
    visible = visible.replace("\x1b", "").replace("\x9b", "")
    removed = len(unix) - len(visible)
    return Cleaned(visible, removed and removed - count_spelling(unix))


def clean_name(text: str) -> Cleaned:
    """Clean a name to one line and fold full-width letters and ligatures (NFKC)."""
    visible, hidden = clean_text(text)
    folded, more = clean_text(unicodedata.normalize("NFKC", visible))
    return Cleaned(" ".join(folded.split()), hidden + more)


def clean_value(value: Any) -> tuple[Any, int]:
    """Clean every text in a JSON value, keys included; return it with the hidden count.

    The caller has bounded the value's depth.
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
                f"two keys become {clean_key!r} once hidden characters are removed"
            )
        result[clean_key], hidden = clean_value(inner)
        total += hidden_in_key + hidden
    return result, total
