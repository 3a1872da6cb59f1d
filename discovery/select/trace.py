"""Trace of a selection, for explanations. It only holds references, so keeping it costs nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from discovery.select.ranking.thresholds import cut


class Named(Protocol):
    """Fields of a candidate used by the trace."""

    @property
    def pk(self) -> int: ...
    @property
    def full_name(self) -> str: ...
    @property
    def display_name(self) -> str: ...


class Scored(Protocol):
    """A candidate's own relevance."""

    @property
    def score(self) -> float: ...


class Competitor(Protocol):
    """A ranked candidate: its own relevance, and its score after relations."""

    @property
    def candidate(self) -> Named: ...
    @property
    def judged(self) -> Scored: ...
    @property
    def score(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Workings:
    """Reading of the message, ranking, and places."""

    texts: tuple[str, ...]  # the whole message, then each clause
    in_context: bool  # the first text contains an earlier message
    ranked: Sequence[Competitor]
    # Each with its twins: the same definition on other integrations.
    placed: Sequence[tuple[Competitor, Sequence[Competitor]]]

    @property
    def threshold(self) -> float:
        """Return the lowest relevant score for a message that is not small talk."""
        return cut([item.judged.score for item in self.ranked])
