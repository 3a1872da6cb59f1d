"""Follow-up messages: those that make sense only after an earlier message."""

import re
from collections.abc import Sequence

from discovery.select import glossary
from discovery.select.vague import is_vague

# A message with more words than this stands by itself.
MOST_WORDS, MOST_WORDS_WITHOUT_SIGN = 12, 3
LONGEST_TURN = 500  # characters that are read of an earlier message

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
# Openings of follow-ups: "and to Anna", "what about tomorrow", "no, the other one".
_GOES_ON = re.compile(
    r"""\W*+(?:and|or|but|also|plus|then|instead|actually|no|yes|ok|okay|same|again|another|now
    |what\ about|how\ about|what\ if|make\ (?:it|that|them)|go\ ahead|do\ (?:it|that)
    |und|oder|aber|auch|nochmal|jetzt|ja|nein|et|ou|mais|aussi|oui|non|y|o|pero|también|sí
    |e|mas|também|sim|não|ma|anche|sì|en|of|maar|ook|nee)\b""",
    re.IGNORECASE | re.VERBOSE,
)
# References to something outside of the message: "send it", "that one too", "the other file".
_POINTS_BACK = re.compile(
    r"""\b(?:it|them|him|her|those|this\ one|both|again|also|instead|as\ well|else
    |the\ (?:other|first|second|third|last|same)|(?:new|old|earli|lat|cheap)er
    |(?:that|too)(?=\W*$|\ (?:one|too|instead|again|now|please)\b)
    |nochmal|stattdessen|auch|den\ anderen|aussi|encore|también|otra\ vez|também|outra\ vez
    |anche|ancora|ook|nog)\b""",
    re.IGNORECASE | re.VERBOSE,
)


def in_context(message: str, history: Sequence[str]) -> str:
    """Return the message after the last one of `history` if it is a follow-up, otherwise ""."""
    earlier = next((turn.strip() for turn in reversed(history) if turn.strip()), "")
    if not earlier or not _is_follow_up(message):
        return ""
    return f"{earlier[:LONGEST_TURN]} {message}"


def _is_follow_up(message: str) -> bool:
    if not message.strip():  # a picture alone says what is done with it in the message before
        return True
    words = _WORD.findall(message.lower())
    if not words or len(words) > MOST_WORDS:
        return False
    asks = words[0] in glossary.english_verbs() or glossary.is_verb(words[0])
    if len(words) <= MOST_WORDS_WITHOUT_SIGN and not asks:
        return True
    return bool(_GOES_ON.match(message) or _POINTS_BACK.search(message)) or is_vague(message)
