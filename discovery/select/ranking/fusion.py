"""Fusion of a candidate's evidence into one relevance from 0 to 1. Pure functions.

Meaning and words are added. The weight of words depends on the message: on the share of their
possible worth that the best candidate reaches. A message that repeats a tool's words is matched by
words; one that tells a story is not.

A message with several tasks is scored as a whole and by clause. The best candidates of all clauses
score nearly the same, so that an easy clause does not displace the others' tools; the more clauses,
the less the whole counts. The steps of a task are mostly the same server's, so its tools lose by
how far their server as a whole is behind the best one. Past use is added last.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from catalog import lexical
from discovery.select.ranking.scales import GENERAL, Scale

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
    matches = _matches(evidence, message, scale)
    strengths = [[meaning + words for meaning, words in match] for match in matches]
    best = [max(column) for column in zip(*strengths, strict=True)]
    return [
        _judged(item, match, _strength(strength, best, scale), strength[1:], scale)
        for item, match, strength in zip(evidence, matches, strengths, strict=True)
    ]


def _judged(
    item: MatchEvidence,
    match: Sequence[tuple[float, float]],
    strength: float,
    clauses: Sequence[float],
    scale: Scale,
) -> Judged:
    own_score = _score(strength, item.exact_name, scale)
    score = _score(strength + item.use, item.exact_name, scale) if item.use else own_score
    clause_scores = tuple(_calibrated(clause, scale) for clause in clauses)
    meaning, words = max(match, key=sum)
    return Judged(score, clause_scores, meaning, words, strength, score - own_score)


def _score(strength: float, exact_name: bool, scale: Scale) -> float:
    score = _calibrated(strength, scale)
    return NAMED + (1 - NAMED) * score if exact_name else min(score, NAMED)


def fuse(
    evidence: Sequence[MatchEvidence], message: MessageFeatures, scale: Scale = GENERAL
) -> list[float]:
    """Return only the scores."""
    return [judged.score for judged in judge(evidence, message, scale)]


def _matches(
    evidence: Sequence[MatchEvidence], message: MessageFeatures, scale: Scale
) -> list[list[tuple[float, float]]]:
    """Match each candidate with the whole and each clause; return cosines and word scores."""
    worths = [
        _worth(max(item.lexicals[place] for item in evidence), ideal, scale)
        for place, ideal in enumerate(message.ideals)
    ]
    matches = [
        [
            _match(cosine, words * worth, scale, item.against)
            for cosine, words, worth in zip(item.cosines, item.lexicals, worths, strict=True)
        ]
        for item in evidence
    ]
    return _beside_servers(matches, evidence, scale.server_share)


def _beside_servers(
    matches: list[list[tuple[float, float]]], evidence: Sequence[MatchEvidence], share: float
) -> list[list[tuple[float, float]]]:
    """Take from each cosine what its server is behind the best one. The best server's tools keep
    theirs, so that the scale does not move; with one server for all, nothing changes."""
    servers = [item.server for item in evidence if len(item.server) >= FEWEST_OF_SEVERAL]
    if not servers:
        return matches
    best = [max(column) for column in zip(*servers, strict=True)]
    return [
        [
            (cosine + share * (server_cosine - top), words)
            for (cosine, words), server_cosine, top in zip(
                match, item.server or best, best, strict=True
            )
        ]
        for match, item in zip(matches, evidence, strict=True)
    ]


def _worth(best: float, ideal: float, scale: Scale) -> float:
    """Return the factor that gives the best candidate its share of the ideal, to a power."""
    return (best / ideal) ** scale.word_power / best if best > 0 and ideal > 0 else 0.0


def _match(cosine: float | None, words: float, scale: Scale, against: float) -> tuple[float, float]:
    if cosine is None:
        cosine = scale.cosine_without_words + scale.cosine_by_words * words
    return cosine - against, scale.word_weight * words


def _strength(match: Sequence[float], best: Sequence[float], scale: Scale) -> float:
    """Combine the whole and the best clause, on the scale of a single match."""
    whole, *clauses = match
    if not clauses:
        return whole
    share = (len(clauses) - 1) / (len(clauses) - 1 + scale.whole)
    behind = max(
        clause_match - scale.evenness * top
        for clause_match, top in zip(clauses, best[1:], strict=True)
    )
    return (1 - share) * whole + share * (behind + scale.evenness * max(best[1:]))


def _calibrated(strength: float, scale: Scale) -> float:
    return 1 / (1 + math.exp(-(strength - scale.middle) / scale.width))
