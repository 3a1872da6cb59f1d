"""Hidden characters, read by models but invisible to people, by purpose.

The kinds are Unicode's properties, as the package regex has them.
"""

from collections import Counter

import regex

from catalog.trust.findings import Finding, Severity

_ESCAPES = regex.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|[\x1b\x9b]")
# The group that matches is the kind.
_HIDDEN = regex.compile(
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
DESCRIPTIONS = {
    "tag_characters": "characters that spell out a text of their own and are never shown",
    "bidi_override": "characters that turn the order of the text around",
    "terminal_sequence": "sequences that colour or erase what a terminal shows",
    "zero_width": "characters of no width",
    "control_character": "control characters",
    "private_use": "characters that mean nothing outside of one program",
    "variation_selector": "selectors that change nothing visible and can carry a message",
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
    for match in _HIDDEN.finditer(rest):
        kind = str(match.lastgroup)
        if _is_spelling(kind, rest, match.start()):
            spelling += 1
        else:
            counts[kind] += 1
    found = [_finding(kind, number, where, text) for kind, number in counts.items() if number]
    if spelling:
        told = f"{spelling} invisible characters, as used in emoji and some scripts."
        found.append(Finding("joiners", Severity.LOW, where, told))
    return found


def count_spelling(text: str) -> int:
    """Count hidden characters that emoji or scripts need."""
    rest = _ESCAPES.sub("", text)
    return sum(
        _is_spelling(str(match.lastgroup), rest, match.start()) for match in _HIDDEN.finditer(rest)
    )


def _finding(kind: str, number: int, where: str, text: str) -> Finding:
    told = f"{number} hidden: {DESCRIPTIONS[kind]}."
    return Finding(kind, Severity.HIGH, where, told, _decode_tags(text) if "tag" in kind else "")


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
