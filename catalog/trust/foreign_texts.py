"""Texts of servers that nobody reviews: what they ask, announce and say while a call runs.

Each gate hands over all that it judges, and every text in it is read, keys included: which fields a
model or a person gets to see is up to each client.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any

from catalog.trust.findings import requires_review
from catalog.trust.scanner import (
    INSTRUCTIONS,
    MOST_CHARACTERS,
    TooDeepError,
    scan_text,
    walk_texts,
)

HELD_BACK = "[A text of the server was held back: it looks like an attack.]"
_ENCODED = re.compile(r"(?:data:[\w.+/;=-]{0,200},)?([A-Za-z0-9+/_-]{64,}={0,2})\s*")
_LOOKED_AT = 8_192  # of encoded data, which is no text


def must_be_held_back(value: Any, *, is_prompt: bool = False) -> bool:
    """Return True if a text in the value would need a review, or if there is too much to read.

    A prompt consists of instructions, so it is judged as a skill's text.
    """
    remaining = MOST_CHARACTERS
    try:
        for text in texts_in(value):
            remaining -= len(text)
            # Not its place: what a server calls a field must not make it read more leniently.
            if remaining < 0 or requires_review(scan_text(text, INSTRUCTIONS if is_prompt else "")):
                return True
    except TooDeepError:
        return True
    return False


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text, keys included; of encoded data the start, and the text that it encodes.

    Raises TooDeepError when it comes to values that are nested too deep.
    """
    for _, text in walk_texts(value):
        encoded = _ENCODED.fullmatch(text)
        yield text[:_LOOKED_AT] if encoded else text
        if encoded and (decoded := _decoded(encoded[1])):
            yield decoded


def _decoded(data: str) -> str:
    """Return the text that the data encodes; "" for a picture or a sound."""
    plain = data.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
