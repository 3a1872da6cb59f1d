"""What relations do to a ranking. Pure functions, no database.

Of two results that are related each gains, on the scale on which the evidence is added up: what is
in the balance moves, what is almost certain hardly does, and a score never leaves 0-1. What a
result needs and what it is used together with is pulled in, in places of its own.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

DEPENDS_ON, COMPOSED_WITH = "DEPENDS_ON", "COMPOSED_WITH"
TAGGED_WITH, SAME_CATEGORY = "TAGGED_WITH", "SAME_CATEGORY"
PER_TAG, MOST_BY_TAGS, BY_CATEGORY = 0.3, 0.9, 0.1
TAG = "#"  # what the name of a shared tag begins with; other shared names are categories
# Results are the first ten that are relevant by themselves. With more of them, whatever many need
# passed right answers on labelled sets.
RESULTS = 10
PLACES = 2  # for what is pulled in
# Only what is this near to the best brings along what it needs: the last of ten hardly is meant.
PARENT_SHARE_OF_BEST = 0.7


class Link(NamedTuple):
    """An edge between two candidates, by whatever key the caller knows them."""

    source: int
    target: int
    kind: str
    weight: float


class Gain(NamedTuple):
    """A result's new score, and the one to which it owes the difference."""

    score: float
    partner: int


class Pulled(NamedTuple):
    """What is pulled in: its score, and the result because of which it is there."""

    key: int
    score: float
    parent: int
    kind: str


def links_by_shared(names: Mapping[int, Collection[str]]) -> Iterator[Link]:
    """The links between those that share two tags or a category, of names that count."""
    shared: dict[tuple[int, int], list[str]] = {}
    holders: dict[str, list[int]] = {}
    for key, own in names.items():
        for name in own:
            holders.setdefault(name, []).append(key)
    for name, keys in holders.items():
        for pair in combinations(sorted(keys), 2):
            shared.setdefault(pair, []).append(name)
    for (one, other), common in shared.items():
        tags = sum(name.startswith(TAG) for name in common)
        if tags >= 2:
            yield Link(one, other, TAGGED_WITH, min(MOST_BY_TAGS, PER_TAG * tags))
        if tags < len(common):
            yield Link(one, other, SAME_CATEGORY, BY_CATEGORY)


def gains(results: Mapping[int, float], links: Iterable[Link], *, boost: float) -> dict[int, Gain]:
    """The new scores of results that are related to other results, by the strongest link of each.

    The strongest alone: a tool that everything needs would otherwise gain with everything.
    """
    strongest: dict[int, tuple[float, int]] = {}
    for link in links:
        if link.source in results and link.target in results and link.weight > 0:
            for own, partner in ((link.source, link.target), (link.target, link.source)):
                best = strongest.get(own, (0.0, partner))
                strongest[own] = max(best, (link.weight, partner), key=lambda pair: pair[0])
    return {
        key: Gain(_raised(results[key], boost * weight), partner)
        for key, (weight, partner) in strongest.items()
    }


def pull_in(
    parents: Mapping[int, float],
    outside: Collection[int],
    links: Iterable[Link],
    *,
    boost: float,
    places: int = PLACES,
) -> list[Pulled]:
    """Those of `outside` that the best of the parents need or are used together with.

    Each once, by the parent that gives it the most: the parent's score times boost and weight.
    """
    least = PARENT_SHARE_OF_BEST * max(parents.values(), default=0.0)
    near = {key: score for key, score in parents.items() if score >= least}
    best: dict[int, Pulled] = {}
    for pulled in _pulled(near, outside, links, boost):
        known = best.get(pulled.key)
        if known is None or pulled.score > known.score:
            best[pulled.key] = pulled
    return sorted(best.values(), key=lambda pulled: (-pulled.score, pulled.key))[: max(0, places)]


def _pulled(
    parents: Mapping[int, float], outside: Collection[int], links: Iterable[Link], boost: float
) -> Iterator[Pulled]:
    for link in links:
        for parent, other in _ways(link):
            score = parents.get(parent, 0.0) * boost * link.weight
            if score > 0 and other in outside:
                yield Pulled(other, score, parent, link.kind)


def _ways(link: Link) -> Sequence[tuple[int, int]]:
    """From which end the link leads to which: a need in one direction only."""
    if link.kind == DEPENDS_ON:
        return [(link.source, link.target)]
    if link.kind == COMPOSED_WITH:
        return [(link.source, link.target), (link.target, link.source)]
    return []


def _raised(score: float, step: float) -> float:
    """The score after a step on the curve that scores are read from: its odds, times e to the
    step."""
    odds = score * math.exp(step)
    return odds / (1 - score + odds)
