"""The one threshold: does anything fit, how many places the evidence is worth, and the lead at
which no model has to choose.

Select, plan, the tiers and the searches of models all ask here.
"""

from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple, get_args

Fit = Literal["fits", "nothing_fits", "needs_clarification", "small_talk"]
FITS: tuple[Fit, ...] = get_args(Fit)

# Scores below the floor are irrelevant.
FLOOR = 0.05
# The answer's sentence says of tools below this score that they come nearest, not that they match.
MATCHES = 0.3
# A tool gets a place if its odds are at least this share of the best's; each model has its own
# (`Scale.share`). So a clear message gets one to three tools, and an open one, whose candidates
# score alike, up to all places.
SHARE_OF_ODDS = 0.25
# The share that a place takes at most, however many others have been given before.
LARGEST_SHARE = 0.7
# Without vectors, scores say less: then all that reach this share of the best's score get places.
SHARE_OF_BEST = 0.2
NOTHING = 2.0  # above every score
# Scores above this are those of candidates that the message names; their odds are unbounded.
_MOST = 0.99
# No model has to choose from this score on, where the odds are so many times those of the next.
DIRECT_SCORE, DIRECT_LEAD = 0.85, 4.0


def margin(
    cosines: Sequence[Sequence[float | None]], background: Sequence[float] | None
) -> float | None:
    """Return how much nearer the best candidate is than the background, for the best of the texts.

    None if there is no background, or no candidate has a vector.
    """
    if background is None or not cosines:
        return None
    columns = zip(zip(*cosines, strict=True), background, strict=True)
    return max(
        (
            max(near) - common
            for column, common in columns
            if (near := [cosine for cosine in column if cosine is not None])
        ),
        default=None,
    )


def is_enough(margin: float | None, *, least: float) -> bool:
    """Return False if the best candidate is too far behind the background to fit.

    `least` is the model's own limit for the message (`Scale.limit`). Without vectors, words decide
    alone.
    """
    return margin is None or margin >= least


def cut(
    scores: Sequence[float],
    fit: Fit = "fits",
    *,
    by_words: bool = False,
    share: float = SHARE_OF_ODDS,
    growth: float = 1.0,
) -> float:
    """Return the lowest score that is worth a place; above all scores if nothing fits.

    The share grows with each place that is given: what comes tenth is seldom right.
    """
    if fit != "fits":
        return NOTHING
    ranked = sorted(scores, reverse=True) or [0.0]
    if by_words:
        return max(FLOOR, ranked[0] * SHARE_OF_BEST)
    best, lowest = _odds(ranked[0]), ranked[0]
    for score in ranked[1:]:
        if _odds(score) < share * best:
            break
        lowest, share = score, max(share, min(share * growth, LARGEST_SHARE))
    least = share * best
    return max(FLOOR, min(lowest, least / (1 + least)))


def is_direct(scores: Sequence[float]) -> bool:
    """Return True if the best is good enough and far enough ahead to need no choice."""
    ranked = sorted(scores, reverse=True)
    if not ranked or ranked[0] < DIRECT_SCORE:
        return False
    return len(ranked) == 1 or _odds(ranked[0]) >= DIRECT_LEAD * _odds(ranked[1])


def _odds(score: float) -> float:
    bounded = min(score, _MOST)
    return bounded / (1 - bounded)


# Allocation of an answer's places to ranked candidates. Pure functions.

# A core tool is guaranteed its place if its score is at least this share of the best.
CORE_SHARE_OF_BEST = 0.7


class PlaceCandidate(NamedTuple):
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

    candidate: PlaceCandidate
    alternatives: tuple[int, ...] = ()
    clause: int | None = None


def merge_twins(candidates: Sequence[PlaceCandidate]) -> list[Chosen]:
    """Merge twins, which have the same definition on several servers; best first."""
    # A pinned or core twin represents the others, since its place is guaranteed.
    ranked = sorted(candidates, key=lambda item: -item.score)
    twins: dict[Hashable, list[PlaceCandidate]] = {}
    for item in ranked:
        same = item.fingerprint if item.fingerprint is not None else ("alone", item.key)
        twins.setdefault(same, []).append(item)
    return [_merge(group) for group in twins.values()]


def _merge(group: Sequence[PlaceCandidate]) -> Chosen:
    if len(group) == 1:
        return Chosen(group[0])
    first = max(group, key=lambda item: (not item.failing, item.pinned, item.core, item.score))
    return Chosen(first, tuple(item.key for item in group if item is not first))


def choose(
    candidates: Sequence[PlaceCandidate], *, max_tools: int, threshold: float
) -> list[Chosen]:
    """Choose at most `max_tools` candidates, ordered by relevance.

    Pinned ones always get a place. Then come up to a third for matching core tools, the best of
    each clause, and the rest by relevance. All but pinned ones must reach the threshold.
    """
    return by_relevance(line_up(candidates, max_tools=max_tools, threshold=threshold)[:max_tools])


def line_up(
    candidates: Sequence[PlaceCandidate], *, max_tools: int, threshold: float
) -> list[Chosen]:
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
