"""Parts common to all kinds: the message, in the active language.

Titles and texts have names and words of other people in them, so each is sent as plain text.
"""

from dataclasses import dataclass

MOST_CHARACTERS = 2_500  # Slack takes 3,000 in a block


@dataclass(frozen=True, slots=True)
class Message:
    """A message: title, text, and the address of the page that handles it.

    `topic` and `event` say what it is about, and `at` when that was queued (ISO 8601).
    """

    title: str
    text: str
    url: str
    topic: str = ""
    event: str = ""
    at: str = ""

    @property
    def plain(self) -> str:
        """Return the whole message as lines."""
        return "\n".join(filter(None, (self.title, self.text[:MOST_CHARACTERS])))
