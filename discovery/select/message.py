"""Reading of a message: spelling, context, clauses, and English glosses."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from catalog import lexical
from discovery.select import _glossary
from discovery.select._glossary import add_english, is_foreign, tasks_in_words_of_tools
from discovery.select._spelling import correct
from discovery.select._vague import is_vague
from discovery.select.clauses import split

# Follow-up messages: those that make sense only after an earlier message.

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
    asks = words[0] in _glossary.english_verbs() or _glossary.is_verb(words[0])
    if len(words) <= MOST_WORDS_WITHOUT_SIGN and not asks:
        return True
    return bool(_GOES_ON.match(message) or _POINTS_BACK.search(message)) or is_vague(message)


@dataclass(frozen=True, slots=True)
class MessageTexts:
    """The texts to embed and look up: the whole message, then each clause.

    Texts before index `own` contain an earlier message. `foreign` are the texts as written, without
    English words added, if the message is not English.
    """

    texts: tuple[str, ...]
    own: int = 0
    foreign: tuple[str, ...] = ()


def read(message: str, history: Sequence[str] = (), steps: Sequence[str] = ()) -> MessageTexts:
    """Read a message; its history is used only if it is a follow-up. `steps` are its clauses, where
    somebody knows them better."""
    foreign = is_foreign(message)
    if not foreign:
        message = correct(message)
    texts: tuple[str, ...] = (message, *(steps or split(message)))
    context = in_context(message, history)
    if context:
        texts = (context, *(texts[1:] or texts))
    tasks = () if foreign else tasks_in_words_of_tools(message)
    return MessageTexts(
        (*add_english(texts), *tasks), own=int(bool(context)), foreign=texts if foreign else ()
    )


# Reading of long messages: both ends, and the part between them that asks most.
# People paste documents, logs and mails, and write what they want before or after them. A third
# of what is read is the beginning, a third the end, and a third the densest part of the rest: the
# one with the most words that descriptions of tools use, each counted once, rare ones more.

# More dilutes what is asked. Of 300 messages of MetaTool after (before) 12,000 characters of a
# manual, recall@5 was 76 (76) at 600 characters, 60 (74) at 1,000, 42 (66) at 2,000; alone, 87.
READ_OF_LONG = 600  # characters
MOST_WINDOWS = 512  # that are compared; they lie apart in very long messages
_GAP = "\n…\n"  # ends a sentence for whoever splits the message into clauses


def shorten(message: str, most: int) -> str:
    """Return the message, or what is read of one with over `most` characters.

    What Postgres or a tokenizer rejects is no part of it: lone surrogates and NUL.
    """
    message = message.encode(errors="replace").decode().replace("\x00", " ")
    if len(message) <= most:
        return message
    part = (min(most, READ_OF_LONG) - 2 * len(_GAP)) // 3
    beginning, end = _until_word(message[:part]), _from_word(message[-part:])
    densest = _from_word(_until_word(_densest(message[part:-part], part)))
    return _GAP.join((beginning, densest, end))


def _densest(text: str, size: int) -> str:
    step = max(size // 2, len(text) // MOST_WINDOWS)
    windows = (text[start : start + size] for start in range(0, len(text), step))
    return max(windows, key=lambda window: sum(lexical.weights_among_tools(window).values()))


def _until_word(text: str) -> str:
    """Drop the word that a cut at the end has broken, if the text has blanks at all."""
    words = text.rsplit(maxsplit=1)
    return words[0] if len(words) > 1 else text


def _from_word(text: str) -> str:
    """Drop the word that a cut at the beginning has broken, if the text has blanks at all."""
    words = text.split(maxsplit=1)
    return words[1] if len(words) > 1 else text
