"""What the selector had in its hands when it answered, for those who ask how the answer came
about. Only references: keeping it costs nothing."""

from dataclasses import dataclass

from discovery.competing import Placed, Ranked
from discovery.ranking.thresholds import cut


@dataclass(frozen=True, slots=True)
class Workings:
    """How the message was read, who competed, and who got a place of the ranking."""

    texts: tuple[str, ...]  # the whole first, then each clause
    in_context: bool  # earlier messages are in the first text
    ranked: tuple[Ranked, ...]
    placed: Placed

    @property
    def threshold(self) -> float:
        """The lowest relevance that counts, for a message that asks for something."""
        return cut([item.judged.score for item in self.ranked])
