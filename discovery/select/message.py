"""How a message is read: without slips, in its context, by its clauses, and in English too."""

from collections.abc import Sequence
from dataclasses import dataclass

from discovery.select.clauses import split
from discovery.select.follow_ups import in_context
from discovery.select.glossary import add_english, language_of
from discovery.select.spelling import mend


@dataclass(frozen=True, slots=True)
class Reading:
    """The texts that are embedded and looked up: the whole first, then each clause.

    From `own` on they are the message's own; before that, earlier messages are in them too.
    """

    texts: tuple[str, ...]
    own: int = 0


def read(message: str, history: Sequence[str] = ()) -> Reading:
    """A message that stands by itself is read without its history."""
    if not language_of(message):
        message = mend(message)
    said = (message, *split(message))
    context = in_context(message, history)
    if not context:
        return Reading(add_english(said))
    return Reading(add_english((context, *(said[1:] or said))), own=1)
