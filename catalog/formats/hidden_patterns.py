"""Patterns of hidden characters, by purpose.

The kinds are Unicode's properties, as the package regex has them.
"""

import regex

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
