"""What the selector had in its hands when it answered, for those who ask how the answer came
about. Only references: keeping it costs nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from discovery.select.ranking.thresholds import cut


class Named(Protocol):
    """What is asked of a candidate."""

    @property
    def pk(self) -> int: ...
    @property
    def full_name(self) -> str: ...
    @property
    def display_name(self) -> str: ...


class Scored(Protocol):
    """The evidence for a candidate, as one relevance."""

    @property
    def score(self) -> float: ...


class Competitor(Protocol):
    """A candidate as it was ranked: by its own evidence, and after relations."""

    @property
    def candidate(self) -> Named: ...
    @property
    def judged(self) -> Scored: ...
    @property
    def score(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Workings:
    """How the message was read, who competed, and who got a place of the ranking."""

    texts: tuple[str, ...]  # the whole first, then each clause
    in_context: bool  # earlier messages are in the first text
    ranked: Sequence[Competitor]
    # Each with the same definition on other integrations.
    placed: Sequence[tuple[Competitor, Sequence[Competitor]]]

    @property
    def threshold(self) -> float:
        """The lowest relevance that counts, for a message that asks for something."""
        return cut([item.judged.score for item in self.ranked])
