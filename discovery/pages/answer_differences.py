"""Two answers side by side: what only one of them has, and what has another place.

Places are compared among what both have: a newcomer at the top moves nobody.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """How one capability stands in an answer, compared with the other answer."""

    place: int  # from 1
    elsewhere: int | None  # its place in the other answer; None where it is not there
    moved: int = 0  # how many places nearer to the top than there; below zero for further

    @property
    def only_here(self) -> bool:
        return self.elsewhere is None

    @property
    def in_words(self) -> str:
        """Which way it has moved, and how far."""
        places = abs(self.moved)
        way = "up" if self.moved > 0 else "down"
        return f"{places} place{'' if places == 1 else 's'} {way}"


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs in all."""

    only_first: int
    only_second: int
    moved: int

    @property
    def nothing(self) -> bool:
        return not (self.only_first or self.only_second or self.moved)


def marks(own: Sequence[str], other: Sequence[str]) -> dict[str, Mark]:
    """The marks of an answer, by full name; both answers best first."""
    places = {name: place for place, name in enumerate(other, 1)}
    here = {name: place for place, name in enumerate(name for name in own if name in places)}
    there = {name: place for place, name in enumerate(name for name in other if name in here)}
    return {
        name: Mark(place, places.get(name), there[name] - here[name] if name in here else 0)
        for place, name in enumerate(own, 1)
    }


def difference(first: Sequence[str], second: Sequence[str]) -> Difference:
    """How many are only in one of the two, and how many of those in both have moved."""
    own, other = marks(first, second), marks(second, first)
    return Difference(
        only_first=sum(mark.only_here for mark in own.values()),
        only_second=sum(mark.only_here for mark in other.values()),
        moved=sum(mark.moved != 0 for mark in own.values()),
    )
