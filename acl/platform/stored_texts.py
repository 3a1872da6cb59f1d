"""Texts that are stored in English, for readers of any language: rows, logs and models read them.

A stored text has its values filled in, so a page finds the message that it was made from, and
translates that. `_stored_messages.py` lists the messages with values; it is generated.
"""

import re
from dataclasses import dataclass
from functools import cache

from django.utils.translation import get_language, gettext

from acl.platform._stored_messages import MESSAGES

_GAP = re.compile(r"%\((\w+)\)s")
# Longer texts are a server's own words, and matching costs more the longer a text is.
_LONGEST = 1_000
# A message in a gap of a message: the reason within a sentence, and the value within the reason.
_DEPTH = 3


def translate_stored(text: str) -> str:
    """Return a stored text in the reader's language; what is no message stays as it is."""
    if not text or (get_language() or "en").startswith("en"):
        return text
    return "\n".join(_translate(line, _DEPTH) for line in text.splitlines())


def _translate(text: str, depth: int) -> str:
    # gettext returns the catalogue's header for "".
    if not text or (translated := gettext(text)) != text:
        return text and translated
    if len(text) > _LONGEST or not depth:
        return text
    for message in _messages():
        # The last gap of a message may have been empty, and the blank before it left out.
        values = message.values_in(text) or message.values_in(f"{text} ")
        if values is not None and (sentence := gettext(message.text)) != message.text:
            return sentence % {name: _translate(value, depth - 1) for name, value in values.items()}
    return text


@dataclass(frozen=True, slots=True)
class _Message:
    """A message, the names of its gaps, and its own words around them."""

    text: str
    gaps: tuple[str, ...]
    words: tuple[str, ...]

    def values_in(self, text: str) -> dict[str, str] | None:
        """Return the values of a text made from this message, or None. Takes linear time."""
        first, *rest = self.words
        if not text.startswith(first):
            return None
        values: dict[str, str] = {}
        at = len(first)
        for name, words in zip(self.gaps, rest, strict=True):
            place = text.find(words, at)
            if len(values) == len(self.gaps) - 1:  # the last words end the text
                place = len(text) - len(words) if text.endswith(words) else -1
            if place < at:
                return None
            values[name], at = text[at:place], place + len(words)
        return values


@cache
def _messages() -> tuple[_Message, ...]:
    """Return messages with gaps, those with the most words of their own first."""
    split = ((text, _GAP.split(text)) for text in MESSAGES)
    parts = [
        _Message(text, tuple(item[1::2]), tuple(words.replace("%%", "%") for words in item[::2]))
        for text, item in split
        if len(item) > 1
    ]
    return tuple(sorted(parts, key=lambda item: -sum(map(len, item.words))))
