"""Reading of a message: spelling, context, clauses, and English glosses."""

from collections.abc import Sequence
from dataclasses import dataclass

from discovery.select.clauses import split
from discovery.select.follow_ups import in_context
from discovery.select.glossary import add_english, is_foreign
from discovery.select.spelling import correct


@dataclass(frozen=True, slots=True)
class MessageTexts:
    """The texts to embed and look up: the whole message, then each clause.

    Texts before index `own` contain an earlier message. `foreign` are the texts as written, without
    English words added, if the message is not English.
    """

    texts: tuple[str, ...]
    own: int = 0
    foreign: tuple[str, ...] = ()


def read(message: str, history: Sequence[str] = ()) -> MessageTexts:
    """Read a message; its history is used only if it is a follow-up."""
    foreign = is_foreign(message)
    if not foreign:
        message = correct(message)
    said: tuple[str, ...] = (message, *split(message))
    context = in_context(message, history)
    if context:
        said = (context, *(said[1:] or said))
    return MessageTexts(add_english(said), own=int(bool(context)), foreign=said if foreign else ())
