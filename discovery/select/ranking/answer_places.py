"""Gives the few places of an answer to the candidates. Pure functions, no database."""

from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

# A core tool's place is kept for it while it is this near to the best.
CORE_SHARE_OF_BEST = 0.7


class Candidate(NamedTuple):
    """One ranked candidate: `key` is whatever the caller knows it by."""

    key: int
    score: float
    clause_scores: tuple[float, ...] = ()  # its relevance to each clause of the message by itself
    core: bool = False
    pinned: bool = False
    fingerprint: Hashable = None  # equal for the same definition on several servers


class Chosen(NamedTuple):
    """One that got a place, the twins it stands for, and the clause that brought it in, if any."""

    candidate: Candidate
    alternatives: tuple[int, ...] = ()
    clause: int | None = None


def fold(candidates: Sequence[Candidate]) -> list[Chosen]:
    """Best first, each with its twins (same definition on another server) as alternatives.

    A pinned or core twin stands for the others: its place is promised.
    """
    ranked = sorted(candidates, key=lambda item: -item.score)
    twins: dict[Hashable, list[Candidate]] = {}
    for item in ranked:
        same = item.fingerprint if item.fingerprint is not None else ("alone", item.key)
        twins.setdefault(same, []).append(item)
    return [_folded(group) for group in twins.values()]


def _folded(group: Sequence[Candidate]) -> Chosen:
    first = max(group, key=lambda item: (item.pinned, item.core, item.score))
    return Chosen(first, tuple(item.key for item in group if item is not first))


def choose(candidates: Sequence[Candidate], *, max_tools: int, threshold: float) -> list[Chosen]:
    """At most `max_tools`, ordered by relevance.

    Pinned ones always have a place. Then core tools that fit well have up to a third of the places,
    then come the best of every clause, then the rest by relevance. Whoever is not pinned needs
    relevance: the places of core tools and clauses only keep them from being crowded out.
    """
    return by_relevance(line_up(candidates, max_tools=max_tools, threshold=threshold)[:max_tools])


def line_up(candidates: Sequence[Candidate], *, max_tools: int, threshold: float) -> list[Chosen]:
    """Everyone who may have a place, in the order in which places are given."""
    folded = fold(candidates)
    relevant = [chosen for chosen in folded if chosen.candidate.score >= threshold]
    in_line = (
        *(chosen for chosen in folded if chosen.candidate.pinned),
        *_fitting_core(relevant)[: max(2, max_tools // 3)],
        *_best_of_clauses(relevant),
        *relevant,
    )
    taken: dict[int, Chosen] = {}
    for chosen in in_line:
        taken.setdefault(chosen.candidate.key, chosen)
    return list(taken.values())


def by_relevance(taken: Sequence[Chosen]) -> list[Chosen]:
    """Best first."""
    return sorted(taken, key=lambda chosen: -chosen.candidate.score)


def _fitting_core(relevant: Sequence[Chosen]) -> list[Chosen]:
    best = max((chosen.candidate.score for chosen in relevant), default=0.0)
    return [
        chosen
        for chosen in relevant
        if chosen.candidate.core
        and not chosen.candidate.pinned
        and chosen.candidate.score >= CORE_SHARE_OF_BEST * best
    ]


def _best_of_clauses(relevant: Sequence[Chosen]) -> Iterator[Chosen]:
    """The best of each clause, marked with it; a second one each only cost places."""
    if not relevant:
        return
    for clause in range(min(len(chosen.candidate.clause_scores) for chosen in relevant)):
        best = max(relevant, key=partial(_score_for, clause=clause))
        yield Chosen(best.candidate, best.alternatives, clause)


def _score_for(chosen: Chosen, clause: int) -> float:
    return chosen.candidate.clause_scores[clause]
