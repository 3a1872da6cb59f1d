"""Votes from past use: what was called for similar messages. Pure functions.

The nearest messages that a group has learned from vote for the capabilities called for them. All
votes for a message add up to at most the weight, whoever casts them. The weight is learned: each
new experience tells whether the votes before it would have ranked its capability better or worse
(`VoteGains`).
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# Cosine similarity from which a message is similar enough to vote, and from which two messages are
# the same but for spelling and politeness.
GATE, REPEATED = 0.35, 0.97
SHARPNESS = 2  # exponent of a vote's decay between REPEATED and GATE
# Added to the sum of votes when shares are computed, so that a few distant ones count little.
DOUBT = 0.15
# The weight of all votes together, in cosine, by level. At level 0 only repeated messages count; at
# OFF none do, and votes are only evaluated.
LEVELS = (0.0, 0.1, 0.2, 0.3, 0.45)
OFF, START = -1, 1
REPEAT_WEIGHT = 0.25
# Standard errors of evidence needed to raise the level, and to lower it. With 2 instead of 1.5, the
# level rises some fifty messages later, and is wrong as seldom (lab/choosing.md).
TO_RAISE, TO_LOWER = 1.5, 1.0
RANKS = 10  # lower ranks are not selected


class PastCall(NamedTuple):
    """A past call of a capability in a turn with a similar message.

    `worth` is 1 for a success and -0.5 for a failure, since many failures are not the choice's
    fault.
    """

    capability: int
    turn: Hashable
    likeness: float
    worth: float


class Vote(NamedTuple):
    """A capability's share of all votes, and of those by repeated messages."""

    share: float
    repeated: float


class VoteGains(NamedTuple):
    """Sums of the gains by votes, and of their squares, for each level."""

    gains: Sequence[float] = (0.0,) * len(LEVELS)
    squares: Sequence[float] = (0.0,) * len(LEVELS)


def choice_worth(score: float) -> float:
    """Return the worth of a choice from the score of its outcome."""
    return 1.5 * score - 0.5


def count_votes(near: Sequence[PastCall]) -> dict[int, Vote]:
    """Count votes by capability; a turn that called several capabilities is one message."""
    strengths = [
        float(min(1.0, max(0.0, (call.likeness - GATE) / (1 - GATE))) ** SHARPNESS) for call in near
    ]
    every = _shares(near, strengths, DOUBT)
    again = [float(call.likeness >= REPEATED) for call in near]
    repeated = _shares(near, again, 0.0) if any(again) else {}
    return {key: Vote(share, repeated.get(key, 0.0)) for key, share in every.items()}


def _shares(near: Sequence[PastCall], strengths: Sequence[float], doubt: float) -> dict[int, float]:
    whole = doubt + sum(
        {call.turn: strength for call, strength in zip(near, strengths, strict=True)}.values()
    )
    shares: dict[int, float] = {}
    for call, strength in zip(near, strengths, strict=True):
        shares[call.capability] = shares.get(call.capability, 0.0) + strength * call.worth / whole
    return shares


def choose_level(vote_gains: VoteGains) -> int:
    """Return the level that the evidence supports: slow to rise, quick to fall."""
    gains, errors = vote_gains.gains, [math.sqrt(square) for square in vote_gains.squares]
    if gains[START] < -TO_LOWER * errors[START]:
        return 0 if gains[0] >= -TO_LOWER * errors[0] else OFF
    level = START
    for higher in range(START + 1, len(LEVELS)):
        sure = gains[higher] > 0 and gains[higher] >= TO_RAISE * errors[higher]
        if sure and gains[higher] > gains[level]:
            level = higher
    return level


def bonuses(votes: Mapping[int, Vote], level: int) -> dict[int, float]:
    """Return each capability's bonus or malus, on the scale of the other evidence."""
    if level == OFF:
        return {}
    return {key: _bonus(vote, LEVELS[level]) for key, vote in votes.items()}


def _bonus(vote: Vote, weight: float) -> float:
    """Return the larger bonus by magnitude; repeated messages are part of both shares."""
    return max(weight * vote.share, REPEAT_WEIGHT * vote.repeated, key=abs)


def gains_by_level(
    strengths: Mapping[int, float], votes: Mapping[int, Vote]
) -> dict[int, tuple[float, ...]]:
    """Return what each candidate would gain by the votes at each level, were it the one called.

    A gain is the difference in the worth of its rank. Candidates without any are omitted.
    """
    if not votes:
        return {}
    keys = list(strengths)
    strength = np.array([strengths[key] for key in keys])
    before = _rank_worths(strength)
    after = [
        _rank_worths(strength + _column(keys, bonuses(votes, level)))
        for level in range(len(LEVELS))
    ]
    table = np.stack(after, axis=1) - before[:, None]
    return {key: tuple(row.tolist()) for key, row in zip(keys, table, strict=True) if row.any()}


def _column(keys: Sequence[int], values: Mapping[int, float]) -> npt.NDArray[np.float64]:
    return np.array([values.get(key, 0.0) for key in keys])


def _rank_worths(strengths: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the worth of each one's rank: 1 for the first, nothing after the tenth."""
    ranks = np.argsort(np.argsort(-strengths, kind="stable"), kind="stable")
    return np.where(ranks < RANKS, 1 / np.log2(2 + ranks), 0.0)
