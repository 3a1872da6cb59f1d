"""Texts that are stored in English, for readers of any language: rows, logs and models read them.

A stored text has its values filled in, so a page finds the message that it was made from, and
translates that. `stored_messages.py` lists the messages with values; it is generated.
"""

import re
from functools import cache

from django.utils.translation import get_language, gettext

from acl.platform.stored_messages import MESSAGES

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
    if not text or (known := gettext(text)) != text:
        return text and known
    if len(text) > _LONGEST or not depth:
        return text
    for message, pattern in _patterns():
        # The last gap of a message may have been empty, and the blank before it left out.
        found = pattern.fullmatch(text) or pattern.fullmatch(f"{text} ")
        if found and (sentence := gettext(message)) != message:
            values = found.groupdict().items()
            return sentence % {name: _translate(value, depth - 1) for name, value in values}
    return text


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return messages with their patterns, those with the most words of their own first."""
    order = sorted(MESSAGES, key=lambda message: -len(_GAP.sub("", message)))
    return tuple((message, _compile(message)) for message in order)


def _compile(message: str) -> re.Pattern[str]:
    parts = _GAP.split(message)
    own = [re.escape(part.replace("%%", "%")) for part in parts[::2]]
    gaps = [f"(?P<{name}>.*?)" for name in parts[1::2]]
    return re.compile("".join(one for pair in zip(own, [*gaps, ""], strict=True) for one in pair))
