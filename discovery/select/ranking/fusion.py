"""Fusion of a candidate's evidence into one relevance from 0 to 1. Pure functions.

Meaning and words are added. The weight of words depends on the message: on the share of their
possible worth that the best candidate reaches. A message that repeats a tool's words is matched by
words; one that tells a story is not.

A message with several tasks is scored as a whole and by clause. The best candidates of all clauses
score nearly the same, so that an easy clause does not displace the others' tools; the more clauses,
the less the whole counts. The steps of a task are mostly the same server's, so its tools lose by
how far their server as a whole is behind the best one. Past use is added last.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from catalog import lexical
from discovery.select.ranking.scales import GENERAL, Scale

Floats = npt.NDArray[np.float64]
# Texts of a message with several clauses: the whole, and two at least. Only there servers count.
FEWEST_OF_SEVERAL = 3
NAMED = 0.99  # scores above this are reserved for candidates that the message names


class MatchEvidence(NamedTuple):
    """Evidence for a candidate: for the whole message, then for each clause."""

    cosines: tuple[float | None, ...]  # None: not embedded yet, or no embedder
    lexicals: tuple[float, ...]
    exact_name: bool = False  # the message contains the full name or the action literally
    use: float = 0.0  # bonus or malus by past use
    # Cosines of the mean vector of its server's tools; empty where there is none.
    server: tuple[float, ...] = ()
    against: float = 0.0  # what its effect costs where the message does not ask for it


@dataclass(frozen=True, slots=True)
class MessageFeatures:
    """Features of the message that do not depend on the catalogue."""

    ideals: tuple[float, ...]  # the greatest possible worth of the words, by text

    @classmethod
    def of(cls, message: str, clauses: Sequence[str]) -> "MessageFeatures":
        return cls(tuple(lexical.max_score(lexical.query_vector(t)) for t in (message, *clauses)))


class Judged(NamedTuple):
    """A candidate's relevance to the message and its clauses, and what it is based on."""

    score: float
    clause_scores: tuple[float, ...]
    meaning: float  # cosine and words of the best matching text, after what its server costs
    words: float
    strength: float  # before calibration, and without past use
    used: float  # the part of the score due to past use

    @property
    def by_itself(self) -> float:
        """Return the relevance without past use."""
        return self.score - self.used


def judge(
    evidence: Sequence[MatchEvidence], message: MessageFeatures, scale: Scale = GENERAL
) -> list[Judged]:
    """Judge all candidates, in their order."""
    if not evidence:
        return []
    meaning, words = _matches(evidence, message, scale)
    matches = meaning + words
    strengths = _strengths(matches, scale)
    used = np.array([item.use for item in evidence])
    exact = np.array([item.exact_name for item in evidence])
    own_scores = _scores(strengths, exact, scale)
    scores = np.where(used == 0, own_scores, _scores(strengths + used, exact, scale))
    rows, best = np.arange(len(evidence)), matches.argmax(axis=1)
    columns = (
        scores.tolist(),
        map(tuple, _calibrated(matches[:, 1:], scale).tolist()),
        meaning[rows, best].tolist(),
        words[rows, best].tolist(),
        strengths.tolist(),
        (scores - own_scores).tolist(),
    )
    return list(map(Judged, *columns))


def _scores(strengths: Floats, exact: npt.NDArray[np.bool_], scale: Scale) -> Floats:
    scores = _calibrated(strengths, scale)
    return np.where(exact, NAMED + (1 - NAMED) * scores, np.minimum(scores, NAMED))


def fuse(
    evidence: Sequence[MatchEvidence], message: MessageFeatures, scale: Scale = GENERAL
) -> list[float]:
    """Return only the scores."""
    return [judged.score for judged in judge(evidence, message, scale)]


def _matches(
    evidence: Sequence[MatchEvidence], message: MessageFeatures, scale: Scale
) -> tuple[Floats, Floats]:
    """Match each candidate with the whole and each clause: cosines and word scores, by text."""
    lexicals = np.array([item.lexicals for item in evidence], dtype=float)
    worths = [
        _worth(best, ideal, scale)
        for best, ideal in zip(lexicals.max(axis=0).tolist(), message.ideals, strict=True)
    ]
    words = lexicals * np.array(worths)
    cosines = np.array([item.cosines for item in evidence], dtype=float)  # None is not a number
    by_words = scale.cosine_without_words + scale.cosine_by_words * words
    cosines = np.where(np.isnan(cosines), by_words, cosines)
    cosines = cosines - np.array([[item.against] for item in evidence])
    return _beside_servers(cosines, evidence, scale.server_share), scale.word_weight * words


def _beside_servers(cosines: Floats, evidence: Sequence[MatchEvidence], share: float) -> Floats:
    """Take from each cosine what its server is behind the best one. The best server's tools keep
    theirs, so that the scale does not move; with one server for all, nothing changes."""
    servers = [item.server for item in evidence if len(item.server) >= FEWEST_OF_SEVERAL]
    if not servers:
        return cosines
    best = np.max(servers, axis=0)
    behind = np.array([item.server or best for item in evidence]) - best
    return np.asarray(cosines + share * behind)


def _worth(best: float, ideal: float, scale: Scale) -> float:
    """Return the factor that gives the best candidate its share of the ideal, to a power."""
    return (best / ideal) ** scale.word_power / best if best > 0 and ideal > 0 else 0.0


def _strengths(matches: Floats, scale: Scale) -> Floats:
    """Combine the whole and the best clause of each, on the scale of a single match."""
    whole, clauses = matches[:, 0], matches[:, 1:]
    count = clauses.shape[1]
    if not count:
        return whole
    best = clauses.max(axis=0)
    share = (count - 1) / (count - 1 + scale.whole)
    behind = (clauses - scale.evenness * best).max(axis=1)
    return np.asarray((1 - share) * whole + share * (behind + scale.evenness * best.max()))


def _calibrated(strengths: Floats, scale: Scale) -> Floats:
    return np.asarray(1 / (1 + np.exp(-(strengths - scale.middle) / scale.width)))
