"""Allocation of an answer's places to ranked candidates. Pure functions."""

from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

# A core tool is guaranteed its place if its score is at least this share of the best.
CORE_SHARE_OF_BEST = 0.7


class Candidate(NamedTuple):
    """A ranked candidate; `key` identifies it for the caller."""

    key: int
    score: float
    clause_scores: tuple[float, ...] = ()  # its relevance to each clause alone
    core: bool = False
    pinned: bool = False
    fingerprint: Hashable = None  # equal for the same definition on several servers
    failing: bool = False  # its server is failing: a twin that works takes its place


class Chosen(NamedTuple):
    """A placed candidate, its twins, and the clause that it was chosen for, if any."""

    candidate: Candidate
    alternatives: tuple[int, ...] = ()
    clause: int | None = None


def merge_twins(candidates: Sequence[Candidate]) -> list[Chosen]:
    """Merge twins, which have the same definition on several servers; best first."""
    # A pinned or core twin represents the others, since its place is guaranteed.
    ranked = sorted(candidates, key=lambda item: -item.score)
    twins: dict[Hashable, list[Candidate]] = {}
    for item in ranked:
        same = item.fingerprint if item.fingerprint is not None else ("alone", item.key)
        twins.setdefault(same, []).append(item)
    return [_merge(group) for group in twins.values()]


def _merge(group: Sequence[Candidate]) -> Chosen:
    first = max(group, key=lambda item: (not item.failing, item.pinned, item.core, item.score))
    return Chosen(first, tuple(item.key for item in group if item is not first))


def choose(candidates: Sequence[Candidate], *, max_tools: int, threshold: float) -> list[Chosen]:
    """Choose at most `max_tools` candidates, ordered by relevance.

    Pinned ones always get a place. Then come up to a third for matching core tools, the best of
    each clause, and the rest by relevance. All but pinned ones must reach the threshold.
    """
    return by_relevance(line_up(candidates, max_tools=max_tools, threshold=threshold)[:max_tools])


def line_up(candidates: Sequence[Candidate], *, max_tools: int, threshold: float) -> list[Chosen]:
    """Return all candidates for a place, in the order in which places are given."""
    folded = merge_twins(candidates)
    relevant = [chosen for chosen in folded if chosen.candidate.score >= threshold]
    relevant.sort(key=lambda chosen: chosen.candidate.failing)  # these come last
    candidates_in_order = (
        *(chosen for chosen in folded if chosen.candidate.pinned),
        *_fitting_core(relevant)[: max(2, max_tools // 3)],
        *_best_of_clauses(relevant),
        *relevant,
    )
    taken: dict[int, Chosen] = {}
    for chosen in candidates_in_order:
        taken.setdefault(chosen.candidate.key, chosen)
    return list(taken.values())


def by_relevance(taken: Sequence[Chosen]) -> list[Chosen]:
    """Sort by relevance, best first, and what is failing last."""
    return sorted(taken, key=lambda chosen: (chosen.candidate.failing, -chosen.candidate.score))


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
    """Yield the best candidate of each clause; second best ones proved a waste of places."""
    if not relevant:
        return
    for clause in range(min(len(chosen.candidate.clause_scores) for chosen in relevant)):
        best = max(relevant, key=partial(_score_for, clause=clause))
        yield Chosen(best.candidate, best.alternatives, clause)


def _score_for(chosen: Chosen, clause: int) -> float:
    return chosen.candidate.clause_scores[clause]
