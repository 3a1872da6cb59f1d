"""Reading of a message: spelling, context, clauses, and English glosses."""

from collections.abc import Sequence
from dataclasses import dataclass

from discovery.select.clauses import split
from discovery.select.follow_ups import in_context
from discovery.select.glossary import add_english, language_of
from discovery.select.spelling import correct


@dataclass(frozen=True, slots=True)
class MessageTexts:
    """The texts to embed and look up: the whole message, then each clause.

    Texts before index `own` contain an earlier message.
    """

    texts: tuple[str, ...]
    own: int = 0


def read(message: str, history: Sequence[str] = ()) -> MessageTexts:
    """Read a message; its history is used only if it is a follow-up."""
    if not language_of(message):
        message = correct(message)
    said = (message, *split(message))
    context = in_context(message, history)
    if not context:
        return MessageTexts(add_english(said))
    return MessageTexts(add_english((context, *(said[1:] or said))), own=1)
