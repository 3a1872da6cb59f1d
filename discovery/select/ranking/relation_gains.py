"""Effects of relations on a ranking. Pure functions.

Two related results both gain, on a log-odds scale: undecided scores move, near-certain ones hardly
do, and all stay within 0 and 1. Dependencies and companions of results get places of their own.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

from catalog.models.relation import (
    PULLS_IN_SOURCE,
    PULLS_IN_TARGET,
    Kind,
    weight_of_shared,
)
from catalog.relations.argument_lookups import MOST_WEIGHT

TAG = "#"  # prefix of shared tags; other shared names are categories
# Results are the first ten relevant candidates. With more, tools that many others need displaced
# right answers on labelled sets.
RESULTS = 10
PLACES = 2  # for dependencies and companions
# Only results this close to the best bring their dependencies: the tenth is hardly ever meant.
PARENT_SHARE_OF_BEST = 0.7


class RankedRelation(NamedTuple):
    """A relation between two candidates, by the caller's keys."""

    source: int
    target: int
    kind: str
    weight: float


class Gain(NamedTuple):
    """A result's new score, and the result that raised it."""

    score: float
    partner: int


class PulledIn(NamedTuple):
    """A dependency or companion with its score, and the result that it belongs to."""

    key: int
    score: float
    parent: int
    kind: str


def relations_by_shared(names: Mapping[int, Collection[str]]) -> Iterator[RankedRelation]:
    """Yield relations between capabilities that share two tags or a category."""
    shared: dict[tuple[int, int], list[str]] = {}
    holders: dict[str, list[int]] = {}
    for key, key_names in names.items():
        for name in key_names:
            holders.setdefault(name, []).append(key)
    for name, keys in holders.items():
        for pair in combinations(sorted(keys), 2):
            shared.setdefault(pair, []).append(name)
    for (source, target), common in shared.items():
        tags = sum(name.startswith(TAG) for name in common)
        if tags >= 2:
            yield RankedRelation(
                source, target, Kind.TAGGED_WITH, weight_of_shared(Kind.TAGGED_WITH, tags)
            )
        if tags < len(common):
            yield RankedRelation(
                source, target, Kind.SAME_CATEGORY, weight_of_shared(Kind.SAME_CATEGORY, 1)
            )


def gains(
    results: Mapping[int, float], relations: Iterable[RankedRelation], *, boost: float
) -> dict[int, Gain]:
    """Return the new scores of related results, each by its strongest relation alone."""
    # By all relations, a tool that everything needs would gain with everything.
    strongest: dict[int, tuple[float, int]] = {}
    for relation in relations:
        if relation.source in results and relation.target in results and relation.weight > 0:
            ends = relation.source, relation.target
            for end, partner in (ends, ends[::-1]):
                best = strongest.get(end, (0.0, partner))
                strongest[end] = max(best, (relation.weight, partner), key=lambda pair: pair[0])
    return {
        key: Gain(_raise_score(results[key], boost * weight), partner)
        for key, (weight, partner) in strongest.items()
    }


def pull_in(
    parents: Mapping[int, float],
    outside: Collection[int],
    relations: Iterable[RankedRelation],
    *,
    boost: float,
    places: int = PLACES,
) -> list[PulledIn]:
    """Return those of `outside` that the best parents need or are used with.

    A candidate's score is the largest of parent's score times boost times weight.
    """
    least = PARENT_SHARE_OF_BEST * max(parents.values(), default=0.0)
    near = {key: score for key, score in parents.items() if score >= least}
    best: dict[int, PulledIn] = {}
    for pulled in _pulled(near, outside, relations, boost):
        previous = best.get(pulled.key)
        if previous is None or pulled.score > previous.score:
            best[pulled.key] = pulled
    return sorted(best.values(), key=lambda pulled: (-pulled.score, pulled.key))[: max(0, places)]


def _pulled(
    parents: Mapping[int, float],
    outside: Collection[int],
    relations: Iterable[RankedRelation],
    boost: float,
) -> Iterator[PulledIn]:
    for relation in _without_weaker_lookups(relations):
        # The directions in which a result pulls in its partner: a dependency one way only.
        ends = relation.source, relation.target
        directions = [ends] if relation.kind in PULLS_IN_TARGET else []
        if relation.kind in PULLS_IN_SOURCE:
            directions.append(ends[::-1])
        for parent, partner in directions:
            score = parents.get(parent, 0.0) * boost * relation.weight
            if score > 0 and partner in outside:
                yield PulledIn(partner, score, parent, relation.kind)


def _without_weaker_lookups(relations: Iterable[RankedRelation]) -> Iterator[RankedRelation]:
    """Yield the relations, but only the heaviest lookup of each tool, the oldest of equal ones."""
    best: dict[int, RankedRelation] = {}
    for relation in relations:
        if relation.kind != Kind.DEPENDS_ON or not 0 < relation.weight <= MOST_WEIGHT:
            yield relation
        elif (heaviest := best.get(relation.source)) is None or (
            (-relation.weight, relation.target) < (-heaviest.weight, heaviest.target)
        ):
            best[relation.source] = relation
    yield from best.values()


def _raise_score(score: float, step: float) -> float:
    """Return the score after a step on the logistic curve: its odds, times e to the step."""
    odds = score * math.exp(step)
    return odds / (1 - score + odds)
