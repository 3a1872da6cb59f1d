"""Comparison of two answers: what only one of them has, and what changed places.

Places are compared among the tools in both, so a tool that is new at the top moves no other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import ngettext


@dataclass(frozen=True, slots=True)
class Mark:
    """Place of a capability in an answer, compared with the other answer."""

    place: int  # from 1
    elsewhere: int | None  # place in the other answer, or None
    moved: int = 0  # places nearer to the top than in the other answer; negative if further down

    @property
    def only_here(self) -> bool:
        return self.elsewhere is None

    @property
    def in_words(self) -> str:
        """Return direction and number of places."""
        places = abs(self.moved)
        if self.moved > 0:
            text = ngettext("%(count)s place higher", "%(count)s places higher", places)
        else:
            text = ngettext("%(count)s place lower", "%(count)s places lower", places)
        return text % {"count": places}


@dataclass(frozen=True, slots=True)
class DifferenceCounts:
    """Counts of all differences."""

    only_first: int
    only_second: int
    moved: int

    @property
    def nothing(self) -> bool:
        return not (self.only_first or self.only_second or self.moved)


def compare_places(own: Sequence[str], other: Sequence[str]) -> dict[str, Mark]:
    """Return the marks of an answer by full name; both answers best first."""
    places = {name: place for place, name in enumerate(other, 1)}
    here = {name: place for place, name in enumerate(name for name in own if name in places)}
    there = {name: place for place, name in enumerate(name for name in other if name in here)}
    return {
        name: Mark(place, places.get(name), there[name] - here[name] if name in here else 0)
        for place, name in enumerate(own, 1)
    }


def count_differences(first: Sequence[str], second: Sequence[str]) -> DifferenceCounts:
    """Count the tools in only one of the answers, and the tools that moved."""
    own, other = compare_places(first, second), compare_places(second, first)
    return DifferenceCounts(
        only_first=sum(mark.only_here for mark in own.values()),
        only_second=sum(mark.only_here for mark in other.values()),
        moved=sum(mark.moved != 0 for mark in own.values()),
    )
