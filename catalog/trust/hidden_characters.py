"""Hidden characters, read by models but invisible to people, by purpose."""

import re
import unicodedata
from collections import Counter

from catalog.trust.findings import Finding, Severity

_ESCAPES = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|[\x1b\x9b]")
_EMOJI = re.compile(
    r"[\U0001f000-\U0001faff\u2190-\u2bff\u3030\u303d\u3297\u3299\u00a9\u00ae\u203c\u2049\u2122\u2139#*0-9]"
)
# Scripts whose spelling uses joiners.
_JOINING = re.compile(
    r"[\u0590-\u08ff\u0900-\u0dff\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1800-\u18af]"
)
_DESCRIPTIONS = {
    "tag_characters": "characters that spell out a text of their own and are never shown",
    "bidi_override": "characters that turn the order of the text around",
    "terminal_sequence": "sequences that colour or erase what a terminal shows",
    "zero_width": "characters of no width",
    "control_character": "control characters",
    "private_use": "characters that mean nothing outside of one program",
    "variation_selector": "selectors that change nothing one sees, and can carry a message",
}


def find_hidden(text: str, where: str) -> list[Finding]:
    """Return a finding per kind of hidden character.

    Those needed by emoji and scripts have low severity.
    """
    if text.isascii() and text.isprintable():
        return []
    counts: Counter[str] = Counter()
    spelling = 0
    rest = text.replace("\r\n", "\n")
    counts["terminal_sequence"] = len(_ESCAPES.findall(rest))
    rest = _ESCAPES.sub("", rest)
    for place, character in enumerate(rest):
        kind = _kind(character)
        if kind and _is_spelling(kind, rest, place):
            spelling += 1
        elif kind:
            counts[kind] += 1
    found = [_finding(kind, number, where, text) for kind, number in counts.items() if number]
    if spelling:
        told = f"{spelling} invisible characters that emoji, or the script, are written with."
        found.append(Finding("joiners", Severity.LOW, where, told))
    return found


def count_spelling(text: str) -> int:
    """Count hidden characters that emoji or scripts need."""
    rest = _ESCAPES.sub("", text)
    return sum(
        bool(kind) and _is_spelling(kind, rest, place)
        for place, kind in enumerate(map(_kind, rest))
    )


def _finding(kind: str, number: int, where: str, text: str) -> Finding:
    told = f"{number} hidden: {_DESCRIPTIONS[kind]}."
    return Finding(kind, Severity.HIGH, where, told, _decode_tags(text) if "tag" in kind else "")


def _kind(character: str) -> str:
    code = ord(character)
    if code < 0x7F:
        return "" if code >= 0x20 or character in "\n\t" else "control_character"
    if 0xE0000 <= code <= 0xE007F:
        return "tag_characters"
    if 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069:
        return "bidi_override"
    if 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return "variation_selector"
    category = unicodedata.category(character)
    if category == "Cf":
        return "zero_width"
    if category == "Cc":
        return "control_character"
    return "private_use" if category in {"Co", "Cs", "Cn"} else ""


def _is_spelling(kind: str, text: str, place: int) -> bool:
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


def _decode_tags(text: str) -> str:
    """Decode the text spelled by tag characters."""
    letters = (ord(one) - 0xE0000 for one in text if 0xE0020 <= ord(one) <= 0xE007E)
    return "".join(map(chr, letters))[:160]
