"""The one threshold: does anything fit, how many places the evidence is worth, and the lead at
which no model has to choose.

Select, plan, the tiers and the searches of models all ask here.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

Fit = Literal["fits", "nothing_fits", "needs_clarification", "small_talk"]
FITS: tuple[Fit, ...] = get_args(Fit)

# Scores below the floor are irrelevant.
FLOOR = 0.05
# A tool gets a place if its odds are at least this share of the best's; each model has its own
# (`Scale.share`). So a clear message gets one to three tools, and an open one, whose candidates
# score alike, up to all places.
SHARE_OF_ODDS = 0.25
# Without vectors, scores say less: then all that reach this share of the best's score get places.
SHARE_OF_BEST = 0.2
NOTHING = 2.0  # above every score
# Scores above this are those of candidates that the message names; their odds are unbounded.
_MOST = 0.99
# No model has to choose from this score on, where the odds are so many times those of the next.
DIRECT_SCORE, DIRECT_LEAD = 0.85, 4.0


def margin(
    cosines: Iterable[Sequence[float | None]], background: Sequence[float] | None
) -> float | None:
    """Return how much nearer the best candidate is than the background, for the best of the texts.

    None if there is no background, or no candidate has a vector.
    """
    if background is None:
        return None
    return max(
        (
            cosine - common
            for row in cosines
            for cosine, common in zip(row, background, strict=True)
            if cosine is not None
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
) -> float:
    """Return the lowest score that is worth a place; above all scores if nothing fits."""
    if fit != "fits":
        return NOTHING
    best = max(scores, default=0.0)
    if by_words:
        return max(FLOOR, best * SHARE_OF_BEST)
    least = share * _odds(best)
    return max(FLOOR, least / (1 + least))


def is_direct(scores: Sequence[float]) -> bool:
    """Return True if the best is good enough and far enough ahead to need no choice."""
    ranked = sorted(scores, reverse=True)
    if not ranked or ranked[0] < DIRECT_SCORE:
        return False
    return len(ranked) == 1 or _odds(ranked[0]) >= DIRECT_LEAD * _odds(ranked[1])


def _odds(score: float) -> float:
    bounded = min(score, _MOST)
    return bounded / (1 - bounded)
