"""Where relevance ends, and when one capability is far ahead."""

from collections.abc import Sequence

# Below the floor nothing is relevant; below this share of the best it is noise. On labelled sets
# this keeps seven to ten of ten places and hardly loses a right answer.
FLOOR, SHARE_OF_BEST = 0.05, 0.2
NOTHING = 2.0  # above every score
DIRECT_SCORE, DIRECT_LEAD = 0.85, 0.25


def cut(scores: Sequence[float], *, small_talk: bool = False) -> float:
    """The lowest score that is still relevant; for small talk none is."""
    if small_talk:
        return NOTHING
    return max(FLOOR, max(scores, default=0.0) * SHARE_OF_BEST)


def is_direct(scores: Sequence[float]) -> bool:
    """Whether the best is so good and so far ahead that no model has to choose."""
    ranked = sorted(scores, reverse=True)
    if not ranked or ranked[0] < DIRECT_SCORE:
        return False
    return len(ranked) == 1 or ranked[0] - ranked[1] >= DIRECT_LEAD
