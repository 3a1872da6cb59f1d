"""A group's past messages, as CTEs of a statement, and the votes that they give."""

import math
from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# Votes from past use: what was called for similar messages. Pure functions.
#
# The nearest messages that a group has learned from vote for the capabilities called for them. All
# votes for a message add up to at most the weight, whoever casts them. The weight is learned: each
# new experience tells whether the votes before it would have ranked its capability better or worse
# (`VoteGains`).

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
# Messages of one kind: this similar, and hardly less so than the most similar one. Where three past
# messages of a kind called the same tool, it is right for 87 to 100 % of the next ones
# (lab/learning.md). So the newest three decide, whatever was called before them.
KIND, KIND_WIDTH, NEWEST_OF_KIND = 0.7, 0.2, 3
RANKS = 10  # lower ranks are not selected


class PastCall(NamedTuple):
    """A past call of a capability in a turn with a similar message.

    `worth` is 1 for a success and -0.5 for a failure, since many failures are not the choice's
    fault. A later call has a larger `number`.
    """

    capability: int
    turn: Hashable
    likeness: float
    worth: float
    number: int = 0


class Vote(NamedTuple):
    """A capability's share of all votes, and of those by repeated messages.

    `of_kind` is what it was worth to the newest messages of this kind, at most one for each.
    """

    share: float
    repeated: float
    of_kind: float = 0.0


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
    # The newest messages of the kind that is most like this one.
    least = max(KIND, max((call.likeness for call in near), default=0.0) - KIND_WIDTH)
    turns: dict[Hashable, int] = {}
    for call in near:
        if call.likeness >= least:
            turns[call.turn] = max(call.number, turns.get(call.turn, 0))
    newest = set(sorted(turns, key=turns.__getitem__, reverse=True)[:NEWEST_OF_KIND])
    of_kind: dict[int, float] = {}
    for call in near:
        if call.turn in newest:
            of_kind[call.capability] = of_kind.get(call.capability, 0.0) + call.worth
    return {
        key: Vote(share, repeated.get(key, 0.0), of_kind.get(key, 0.0))
        for key, share in every.items()
    }


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
    # The larger bonus by magnitude; repeated messages are part of both shares.
    return {
        key: max((LEVELS[level]) * vote.share, REPEAT_WEIGHT * vote.repeated, key=abs)
        for key, vote in votes.items()
    }


def sureness(votes: Mapping[int, Vote], level: int) -> dict[int, float]:
    """Return how far past messages of this kind decide for each capability that did well in them.

    One decides nothing, three decide alone (1.0), whatever else the message is like.
    """
    if level == OFF:
        return {}
    return {
        key: max(0.0, vote.of_kind - 1) / (NEWEST_OF_KIND - 1)
        for key, vote in votes.items()
        if vote.of_kind > 0
    }


class PastUse(NamedTuple):
    """Past use by capability: votes, bonuses or maluses, and how far it decides alone."""

    votes: Mapping[int, Vote] = MappingProxyType({})
    bonuses: Mapping[int, float] = MappingProxyType({})
    sure: Mapping[int, float] = MappingProxyType({})

    @property
    def decides(self) -> bool:
        """Return True if what messages of this kind need is known."""
        return max(self.sure.values(), default=0.0) >= 1

    @classmethod
    def of(cls, near: Sequence[PastCall], checked: VoteGains) -> "PastUse":
        votes, level = count_votes(near), choose_level(checked)
        return cls(votes, bonuses(votes, level), sureness(votes, level))


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
        _rank_worths(strength + [gains.get(key, 0.0) for key in keys])
        for gains in (bonuses(votes, level) for level in range(len(LEVELS)))
    ]
    table = np.stack(after, axis=1) - before[:, None]
    return {key: tuple(row.tolist()) for key, row in zip(keys, table, strict=True) if row.any()}


def _rank_worths(strengths: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the worth of each one's rank: 1 for the first, nothing after the tenth."""
    ranks = np.argsort(np.argsort(-strengths, kind="stable"), kind="stable")
    return np.where(ranks < RANKS, 1 / np.log2(2 + ranks), 0.0)


# A group's past messages, as CTEs of the statement that selects candidates.
#
# Rights apply first: an experience with a capability that the caller may not use casts no vote,
# displaces no other, and does not affect how votes are weighted.

# Limits on the nearest experiences that vote: per user, per user and capability, and in total. They
# keep a user from outvoting the others by repetition. Of those for one capability that are about as
# near, the newest count, so that a lesson is unlearned.
OF_USER, OF_USER_FOR_ONE, OF_ALL = 8, 3, 24
# At most this many enter the window functions, and the weights rest on this many of the newest.
NEAREST, MOST_CHECKED = 1000, 1000

# Only our own constants are formatted in.
_CTES = f"""memory AS MATERIALIZED (
  SELECT x.id, x.capability_id, x.turn, x.user_id, x.worth, x.gains,
         1 - (x.vector <=> %(h0)s::halfvec) AS likeness
  FROM discovery_experience x
  WHERE x.group_id = %(group)s::bigint AND x.model_id = (SELECT id FROM model)
    AND {{is_usable}}
    AND x.turn <> ALL (%(apart)s::uuid[])
  ORDER BY x.id DESC LIMIT {{most}}
),
called AS MATERIALIZED (
  SELECT capability_id AS id, array_agg(turn) AS turns, array_agg(likeness) AS likenesses,
         array_agg(worth) AS worths, array_agg(id) AS numbers
  FROM (
    SELECT * FROM (
      SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY likeness DESC, id) AS of_user
      FROM (
        SELECT *, row_number() OVER (
          PARTITION BY user_id, capability_id
          ORDER BY round(likeness * 10) DESC, id DESC) AS for_one
        FROM (
          SELECT * FROM memory WHERE likeness > {GATE}
          ORDER BY likeness DESC, id LIMIT {NEAREST}) near) each
      WHERE for_one <= {OF_USER_FOR_ONE}) own
    WHERE of_user <= {OF_USER} ORDER BY likeness DESC, id LIMIT {OF_ALL}) nearest
  GROUP BY capability_id
)"""  # noqa: S608


# `IS TRUE` makes Postgres probe the rights as a hashed set in index order: a join would sort rows
# together with their vectors.
_IS_USABLE = "(x.capability_id IN (SELECT id FROM usable)) IS TRUE"


def memory_ctes(most: int, is_usable: str = _IS_USABLE) -> str:
    """Return the CTEs that follow `usable` and `model`; `most` experiences bound the cost.

    `is_usable` is the condition on a row `x`, in a statement that has no `usable`. Vectors stay in
    their table: only distances are kept.
    """
    return _CTES.format(most=most, is_usable=is_usable)


_NEWEST = f"SELECT gains FROM memory ORDER BY id DESC LIMIT {MOST_CHECKED}"  # noqa: S608
# Experiences vote only for what the caller may use, so a statement that asks the rights of some ids
# asks those of their tools, too.
REMEMBERED = """
  UNION SELECT capability_id FROM discovery_experience WHERE group_id = %(group)s::bigint"""
# As an array, so that the planner's estimate of their number does not change the other joins.
HITS = "UNION SELECT unnest(ARRAY(SELECT id FROM called))"
CHECKED = f""",
         (SELECT sum(gains)::real[] FROM ({_NEWEST}) newest) AS gains,
         (SELECT sum(gains * gains)::real[] FROM ({_NEWEST}) newest) AS squares"""  # noqa: S608
COLUMNS = """,
       called.turns, called.likenesses, called.worths, called.numbers, totals.gains,
       totals.squares"""
NAMES = ("turns", "likenesses", "worths", "numbers", "gains", "squares")
JOINED = """
  LEFT JOIN called ON called.id = c.id"""
