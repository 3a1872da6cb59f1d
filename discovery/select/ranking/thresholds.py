"""Thresholds: the lowest relevance, and the lead at which no model has to choose."""

from collections.abc import Sequence

# Scores below the floor are irrelevant, and below this share of the best they are noise. On
# labelled sets this fills seven to ten of ten places and hardly loses a right answer.
FLOOR, SHARE_OF_BEST = 0.05, 0.2
NOTHING = 2.0  # above every score
DIRECT_SCORE, DIRECT_LEAD = 0.85, 0.25


def cut(scores: Sequence[float], *, small_talk: bool = False) -> float:
    """Return the lowest relevant score; nothing is relevant to small talk."""
    if small_talk:
        return NOTHING
    return max(FLOOR, max(scores, default=0.0) * SHARE_OF_BEST)


def is_direct(scores: Sequence[float]) -> bool:
    """Return True if the best is good enough and far enough ahead to need no choice."""
    ranked = sorted(scores, reverse=True)
    if not ranked or ranked[0] < DIRECT_SCORE:
        return False
    return len(ranked) == 1 or ranked[0] - ranked[1] >= DIRECT_LEAD
