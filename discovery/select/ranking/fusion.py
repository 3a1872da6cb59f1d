"""Turns the evidence for each candidate into one relevance in 0-1. Pure functions, no database.

Meaning and words are added up, and how far words count is decided for each message: by how much of
what its words could at best be worth the best candidate reaches. A message that echoes a tool's
words is taken at its words; one that tells a story is not.

A message with several tasks is scored as a whole and by its clauses. What is best for one clause is
worth nearly as much as what is best for another, so that an easy clause does not push the others'
tools out; and the more clauses, the less the whole says.

What was called before for messages like this one is added at the end (`use.py`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from catalog import lexical
from discovery.select.ranking.scales import GENERAL, Scale

NAMED = 0.99  # everything above it is called by its name


class Evidence(NamedTuple):
    """What is known about one candidate: for the whole message first, then for each clause."""

    cosines: tuple[float | None, ...]  # None: not embedded yet, or no embedder
    lexicals: tuple[float, ...]
    exact_name: bool = False  # the message has the full name or the action literally
    use: float = 0.0  # what it gains or loses by what was called before


@dataclass(frozen=True, slots=True)
class MessageFeatures:
    """What is known about the message itself, without looking at the catalogue."""

    ideals: tuple[float, ...]  # what the words of the whole and each clause could at best be worth

    @classmethod
    def of(cls, message: str, clauses: Sequence[str]) -> "MessageFeatures":
        return cls(tuple(lexical.max_score(lexical.query_vector(t)) for t in (message, *clauses)))


class Judged(NamedTuple):
    """A candidate's relevance, to the message and to each of its clauses, and what it rests on."""

    score: float
    clause_scores: tuple[float, ...]
    meaning: float  # the cosine and the words of the text that it matches best
    words: float
    strength: float  # before the calibration, and without what was called before
    used: float  # what of the score is due to what was called before

    @property
    def by_itself(self) -> float:
        """Its relevance by what the message and the capability say alone."""
        return self.score - self.used


def judge(
    evidence: Sequence[Evidence], message: MessageFeatures, scale: Scale = GENERAL
) -> list[Judged]:
    """The relevance of every candidate, in their order."""
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
    item: Evidence,
    match: Sequence[tuple[float, float]],
    strength: float,
    clauses: Sequence[float],
    scale: Scale,
) -> Judged:
    own = _score(strength, item.exact_name, scale)
    score = _score(strength + item.use, item.exact_name, scale) if item.use else own
    clause_scores = tuple(_calibrated(clause, scale) for clause in clauses)
    meaning, words = max(match, key=sum)
    return Judged(score, clause_scores, meaning, words, strength, score - own)


def _score(strength: float, exact_name: bool, scale: Scale) -> float:
    score = _calibrated(strength, scale)
    return NAMED + (1 - NAMED) * score if exact_name else min(score, NAMED)


def fuse(
    evidence: Sequence[Evidence], message: MessageFeatures, scale: Scale = GENERAL
) -> list[float]:
    """The scores alone."""
    return [judged.score for judged in judge(evidence, message, scale)]


def _matches(
    evidence: Sequence[Evidence], message: MessageFeatures, scale: Scale
) -> list[list[tuple[float, float]]]:
    """How well each candidate matches the whole and each clause: its cosine and its words."""
    worths = [
        _worth(max(item.lexicals[place] for item in evidence), ideal, scale)
        for place, ideal in enumerate(message.ideals)
    ]
    return [
        [
            _match(cosine, words * worth, scale)
            for cosine, words, worth in zip(item.cosines, item.lexicals, worths, strict=True)
        ]
        for item in evidence
    ]


def _worth(best: float, ideal: float, scale: Scale) -> float:
    """Scales the words so that the best gets its share of the ideal, to the scale's power."""
    return (best / ideal) ** scale.word_power / best if best > 0 and ideal > 0 else 0.0


def _match(cosine: float | None, words: float, scale: Scale) -> tuple[float, float]:
    if cosine is None:
        cosine = scale.cosine_without_words + scale.cosine_by_words * words
    return cosine, scale.word_weight * words


def _strength(match: Sequence[float], best: Sequence[float], scale: Scale) -> float:
    """The whole and the clause that the candidate is best for, on the scale of a single match."""
    whole, *clauses = match
    if not clauses:
        return whole
    share = (len(clauses) - 1) / (len(clauses) - 1 + scale.whole)
    behind = max(own - scale.evenness * top for own, top in zip(clauses, best[1:], strict=True))
    return (1 - share) * whole + share * (behind + scale.evenness * max(best[1:]))


def _calibrated(strength: float, scale: Scale) -> float:
    return 1 / (1 + math.exp(-(strength - scale.middle) / scale.width))
