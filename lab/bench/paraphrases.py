"""Rule-based paraphrases of messages, the same on each run.

Each changes what people do vary: politeness, omitted words, the order of sentences or of parts
around a comma, synonyms, typing errors.
"""

import random
import re
from collections.abc import Callable

_FRAMES = (
    ("hi there, ", ""),
    ("could you please help me with this: ", ""),
    ("", " thanks a lot!"),
    ("hey, quick question - ", ""),
    ("", ", please, as soon as you can"),
)
# Synonyms to exchange as they stand; none is a tool's name.
_SYNONYMS = {
    "find": "look up", "search": "look", "show": "give", "need": "require", "want": "would like",
    "create": "make", "recommend": "suggest", "suggest": "recommend", "help": "assist",
    "information": "details", "details": "information", "latest": "newest", "buy": "purchase",
    "purchase": "buy", "best": "top", "good": "great", "get": "fetch", "tell": "inform",
    "check": "verify", "looking": "searching", "provide": "give", "update": "change",
    "change": "update", "big": "large", "cheap": "affordable", "currently": "now", "using": "with",
    "about": "regarding", "learn": "read", "interested": "keen", "send": "forward",
}  # fmt: skip
_SMALL = frozenset(
    [
        "a",
        "an",
        "the",
        "some",
        "any",
        "my",
        "our",
        "your",
        "please",
        "just",
        "also",
        "really",
        "very",
    ]
)


def framed(message: str, dice: random.Random) -> str:
    """Add a polite phrase around the message."""
    before, after = dice.choice(_FRAMES)
    return f"{before}{message[:1].lower()}{message[1:].rstrip()}{after}"


def shortened(message: str, dice: random.Random) -> str:
    """Omit articles and the like, and a fifth of the other words."""
    words = [word for word in message.split() if word.lower() not in _SMALL]
    return " ".join(word for word in words if dice.random() > 0.2) or message


def reordered(message: str, dice: random.Random) -> str:
    """Move the first sentence, the part before a comma, or half of the words to the end."""
    for mark in (r"(?<=[.!?])\s+", r",\s+"):
        parts = [part for part in re.split(mark, message) if part]
        if len(parts) > 1:
            return " ".join((*parts[1:], parts[0]))
    words = message.rstrip(".?!").split()
    half = len(words) // 2
    return " ".join((*words[half:], *words[:half]))


def reworded(message: str, dice: random.Random) -> str:
    """Exchange synonyms, or else swap two neighbours."""
    words = [_SYNONYMS.get(word.lower(), word) for word in message.split()]
    if words == message.split() and len(words) > 3:
        place = dice.randrange(len(words) - 1)
        words[place], words[place + 1] = words[place + 1], words[place]
    return " ".join(words)


def all_of_it(message: str, dice: random.Random) -> str:
    """Combine all: reworded, shortened, reordered and framed."""
    for change in (reworded, shortened, reordered, framed):
        message = change(message, dice)
    return message


WAYS: dict[str, Callable[[str, random.Random], str]] = {
    "the same again": lambda message, dice: message,
    "something polite around it": framed,
    "other words": reworded,
    "another order": reordered,
    "a fifth of the words missing": shortened,
    "all of it at once": all_of_it,
}
