"""Messages to begin with, and short conversations whose later messages lean on the earlier ones."""

from collections.abc import Sequence
from dataclasses import dataclass

MESSAGES = (
    "Has the landlord answered my mail?",
    "Put lunch with Anna into my calendar on Friday",
    "Summarise this article and post it to Slack",
    "Will it rain in Lisbon tomorrow?",
)
SMALL_TALK = "Thanks, that was all!"
# The first whose category the person has tools of; or else the first of all.
CONVERSATIONS = (
    (
        "planning",
        (
            "Put lunch with Anna into my calendar on Friday at noon",
            "make it half past twelve instead",
            "and mail her that I look forward to it",
        ),
    ),
    (
        "communication",
        ("Has the landlord answered my mail?", "open it", "and forward it to Jonas"),
    ),
    (
        "information",
        ("Will it rain in Lisbon tomorrow?", "and the day after?", "what about Porto?"),
    ),
    (
        "filesystem",
        ("Find the lease in the shared folder", "open it", "and summarise it for me"),
    ),
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, with those before it as the form has them."""

    number: int
    message: str
    history: str
    current: bool = False


def conversation_for(categories: Sequence[str]) -> tuple[Turn, ...]:
    """The turns of a conversation about something that there is."""
    fitting = (said for category, said in CONVERSATIONS if category in categories)
    return _turns(next(fitting, CONVERSATIONS[0][1]))


def turns_around(message: str, history: Sequence[str]) -> tuple[Turn, ...]:
    """The conversation that this is a turn of, with that turn marked; nothing where it is none."""
    now = (*history, message.strip())
    for _, said in CONVERSATIONS:
        if now == said[: len(now)]:
            return _turns(said, current=len(now))
    return ()


def _turns(said: Sequence[str], current: int = 0) -> tuple[Turn, ...]:
    return tuple(
        Turn(number, message, "\n".join(said[: number - 1]), number == current)
        for number, message in enumerate(said, 1)
    )
