"""Sample messages, and short conversations whose later messages refer to earlier ones."""

from collections.abc import Sequence
from dataclasses import dataclass

MESSAGES = (
    "Has the landlord answered my mail?",
    "Put lunch with Anna into my calendar on Friday",
    "Summarise this article and post it to Slack",
    "Will it rain in Lisbon tomorrow?",
)
SMALL_TALK = "Thanks, that was all!"
# Used is the first whose category the person has tools of, or else the first of all.
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
    """A message of a conversation, with the earlier ones as the form takes them."""

    number: int
    message: str
    history: str
    current: bool = False


def choose_conversation(categories: Sequence[str]) -> tuple[Turn, ...]:
    """Choose a conversation about one of the categories."""
    fitting = (said for category, said in CONVERSATIONS if category in categories)
    return _turns(next(fitting, CONVERSATIONS[0][1]))


def find_conversation(message: str, history: Sequence[str]) -> tuple[Turn, ...]:
    """Return the sample conversation that contains these messages, with the current one marked."""
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
