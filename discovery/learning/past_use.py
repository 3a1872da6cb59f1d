"""What was called for messages like this one, as votes. Pure functions, no database.

The nearest of the messages that a group has learned from vote for what was called for them. All
votes for a message together are worth at most the weight, whoever casts them. How large the weight
is, later messages decide: each that is learned says whether the votes before it would have ranked
what was called for it better or worse (`Checked`).
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# Cosine between two messages from which one says something about the other, and from which they
# are the same but for spelling and politeness.
GATE, REPEATED = 0.35, 0.97
SHARPNESS = 2  # how fast a vote fades on the way from a repeated message to the gate
# Votes are shares of all the votes and this much doubt: few far ones are worth little.
DOUBT = 0.15
# What all votes together are worth, in cosine, by level. At the lowest only repeated messages
# count. Below it nothing counts, and votes are only watched.
LEVELS = (0.0, 0.1, 0.2, 0.3, 0.45)
OFF, START = -1, 1
REPEAT_WEIGHT = 0.25
# How many standard errors it takes to believe more than at the start, and to believe less.
TO_RAISE, TO_LOWER = 2.0, 1.0
RANKS = 10  # whoever comes later is not selected


class Experience(NamedTuple):
    """That a capability was called in a turn of the past whose message was like this one.

    `worth` is 1 where all went well and -0.5 where it failed: often that is not the choice's fault.
    """

    capability: int
    turn: Hashable
    likeness: float
    worth: float


class Vote(NamedTuple):
    """A capability's share of the votes, and of those by repeated messages alone."""

    share: float
    repeated: float


class Checked(NamedTuple):
    """For each level what the votes have gained so far, summed up, and the sum of the squares."""

    gains: Sequence[float] = (0.0,) * len(LEVELS)
    squares: Sequence[float] = (0.0,) * len(LEVELS)


def worth_of(score: float) -> float:
    """What an outcome says for the choice of what was called."""
    return 1.5 * score - 0.5


def count_votes(near: Sequence[Experience]) -> dict[int, Vote]:
    """The votes by capability; a turn that called several things is one message."""
    strengths = [_strength(one.likeness) for one in near]
    every = _shares(near, strengths, DOUBT)
    again = [float(one.likeness >= REPEATED) for one in near]
    repeated = _shares(near, again, 0.0) if any(again) else {}
    return {key: Vote(share, repeated.get(key, 0.0)) for key, share in every.items()}


def _strength(likeness: float) -> float:
    return float(min(1.0, max(0.0, (likeness - GATE) / (1 - GATE))) ** SHARPNESS)


def _shares(
    near: Sequence[Experience], strengths: Sequence[float], doubt: float
) -> dict[int, float]:
    whole = doubt + sum({one.turn: own for one, own in zip(near, strengths, strict=True)}.values())
    shares: dict[int, float] = {}
    for one, own in zip(near, strengths, strict=True):
        shares[one.capability] = shares.get(one.capability, 0.0) + own * one.worth / whole
    return shares


def level_for(checked: Checked) -> int:
    """The level that what was seen so far speaks for: slow to believe, quick to doubt."""
    gains, errors = checked.gains, [math.sqrt(square) for square in checked.squares]
    if gains[START] < -TO_LOWER * errors[START]:
        return 0 if gains[0] >= -TO_LOWER * errors[0] else OFF
    level = START
    for higher in range(START + 1, len(LEVELS)):
        sure = gains[higher] > 0 and gains[higher] >= TO_RAISE * errors[higher]
        if sure and gains[higher] > gains[level]:
            level = higher
    return level


def bonuses(votes: Mapping[int, Vote], level: int) -> dict[int, float]:
    """What each capability gains, or loses, on the scale on which evidence is added up."""
    if level == OFF:
        return {}
    return {key: _bonus(vote, LEVELS[level]) for key, vote in votes.items()}


def _bonus(vote: Vote, weight: float) -> float:
    """The larger of the two, whatever its sign: repeated messages are among all of them, too."""
    return max(weight * vote.share, REPEAT_WEIGHT * vote.repeated, key=abs)


def gains_by_level(
    strengths: Mapping[int, float], votes: Mapping[int, Vote]
) -> dict[int, tuple[float, ...]]:
    """For each candidate what it gains by the votes at each level, should it be the one that is
    called: the difference of what its rank is worth. Those without any difference are left out."""
    if not votes:
        return {}
    keys = list(strengths)
    own = np.array([strengths[key] for key in keys])
    before = _worths(own)
    after = [_worths(own + _column(keys, bonuses(votes, level))) for level in range(len(LEVELS))]
    table = np.stack(after, axis=1) - before[:, None]
    return {key: tuple(row.tolist()) for key, row in zip(keys, table, strict=True) if row.any()}


def _column(keys: Sequence[int], values: Mapping[int, float]) -> npt.NDArray[np.float64]:
    return np.array([values.get(key, 0.0) for key in keys])


def _worths(strengths: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Of each by its rank, 1 for the first; nothing after the tenth."""
    ranks = np.argsort(np.argsort(-strengths, kind="stable"), kind="stable")
    return np.where(ranks < RANKS, 1 / np.log2(2 + ranks), 0.0)
