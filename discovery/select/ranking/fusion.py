"""Fusion of a candidate's evidence into one relevance from 0 to 1. Pure functions.

Meaning and words are added. The weight of words depends on the message: on the share of their
possible worth that the best candidate reaches. A message that repeats a tool's words is matched by
words; one that tells a story is not.

A message with several tasks is scored as a whole and by clause. The best candidates of all clauses
score nearly the same, so that an easy clause does not displace the others' tools; the more clauses,
the less the whole counts. The steps of a task are mostly the same server's, so its tools lose by
how far their server as a whole is behind the best one. Past use is added last.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catalog import lexical
from catalog.embedding.shipped_model import read_provenance
from discovery.select.ranking.thresholds import LARGEST_SHARE, SHARE_OF_ODDS

# Scales: per model, the weight of words, and the curve from a match to a relevance.

_MOST_WORDS = 15  # longer messages are no further from a short text


class Scale(NamedTuple):  # one per model, since cosines of different models are not comparable
    """Weights for one model's evidence, fitted to labelled sets."""

    word_weight: float  # worth, in cosine, of matching all words of the message
    # Logistic calibration: at the middle a candidate is right half the time, and each width to
    # either side changes the odds by a factor of e.
    middle: float
    width: float
    # Substitute for the cosine of candidates without a vector: the average at such word scores.
    cosine_without_words: float
    cosine_by_words: float
    # Exponent of the share of the words' possible worth that the best candidate reaches.
    word_power: float = 0.5
    # How much a clause's candidates are measured relative to the best of that clause.
    evenness: float = 0.7
    # Weight of the whole message, relative to all clauses but one.
    whole: float = 2.0
    # How far the best candidate's cosine may be behind the common abilities', if it fits at all,
    # and how much further for each informative word: a long message is less like any short text.
    least_margin: float = -0.116
    margin_by_word: float = 0.003
    # How much of its server's distance to the best server counts for a tool, where the message has
    # several clauses.
    server_share: float = 0.3
    # Share of the best's odds that is worth a place, and its growth with each clause after the
    # first: each clause's best has a place anyway, so the rest is worth less.
    share_of_odds: float = 0.1
    share_growth: float = 1.21
    # Its growth with each place that is given, of a message with one clause and with several.
    growth_by_place: float = 1.25
    growth_of_several: float = 1.1

    def limit(self, words: int) -> float:
        """Return the lowest margin at which a message with so many informative words fits."""
        return self.least_margin - self.margin_by_word * min(words, _MOST_WORDS)

    def share(self, clauses: int) -> float:
        """Return the share of the best's odds that is worth a place."""
        return min(LARGEST_SHARE, self.share_of_odds * self.share_growth ** max(0, clauses - 1))

    def growth(self, clauses: int) -> float:
        """Return how much that share grows with each place that is given."""
        return self.growth_of_several if clauses else self.growth_by_place


# With untrained weights, clauses are no reason to send less: on seal-tools it cost six points.
GENERAL = Scale(
    0.4,
    0.57,
    0.18,
    0.15,
    0.6,
    least_margin=-0.16,
    margin_by_word=0.0,
    share_of_odds=SHARE_OF_ODDS,
    share_growth=1.0,
    growth_by_place=1.0,
    growth_of_several=1.0,
)
# Models trained to choose tools need words less, and understand clauses better by themselves. Only
# the logistic curve is fitted to each such model. The weighing was chosen on messages that the
# shipped model has not learned from; more of its own numbers fit its training sets only.
TRAINED = GENERAL._replace(
    word_weight=0.3,
    whole=1.5,
    least_margin=-0.116,
    margin_by_word=0.003,
    share_of_odds=0.1,
    share_growth=1.21,
    growth_by_place=1.25,
    growth_of_several=1.1,
)


def scale_of(model: str) -> Scale:
    """Return the model's own scale, or the general one."""
    return shipped_scale() if model.endswith(f"-{read_provenance()['adapter']}") else GENERAL


@cache
def shipped_scale() -> Scale:
    """Return the scale fitted to the shipped model."""
    return Scale(**read_provenance()["scale"])


Floats = npt.NDArray[np.float64]
# Texts of a message with several clauses: the whole, and two at least. Only there servers count.
FEWEST_OF_SEVERAL = 3
OWN_SHARE = 0.3  # of a follow-up's own words, beside the message before it
LEAD = 0.05  # of a tool that past messages of this kind decide for, before calibration
NAMED = 0.99  # scores above this are reserved for candidates that the message names


class MatchEvidence(NamedTuple):
    """Evidence for a candidate: for the whole message, then for each clause."""

    cosines: Sequence[float | None]  # None: not embedded yet, or no embedder
    lexicals: Sequence[float]
    exact_name: bool = False  # the message contains the full name or the action literally
    use: float = 0.0  # bonus or malus by past use
    # Cosines of the mean vector of its server's tools; empty where there is none.
    server: Sequence[float] = ()
    against: float = 0.0  # what its effect costs where the message does not ask for it
    sure: float = 0.0  # how far past messages of this kind decide for it, from 0 to 1


@dataclass(frozen=True, slots=True)
class MessageFeatures:
    """Features of the message that do not depend on the catalogue."""

    ideals: tuple[float, ...]  # the greatest possible worth of the words, by text
    goes_on: bool = False  # the first text contains an earlier message

    @classmethod
    def of(
        cls, message: str, clauses: Sequence[str], *, goes_on: bool = False
    ) -> "MessageFeatures":
        ideals = (lexical.max_score(lexical.query_vector(text)) for text in (message, *clauses))
        return cls(tuple(ideals), goes_on)


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
    return judge_columns(zip(*evidence, strict=True), message, scale) if evidence else []


def judge_columns(
    columns: Iterable[Sequence[Any]], message: MessageFeatures, scale: Scale
) -> list[Judged]:
    """Judge candidates by the columns of `MatchEvidence`: a row for each takes as long as this."""
    cosines, lexicals, are_named, uses, servers, against, sureness = columns
    words = _word_worths(lexicals, message.ideals, scale)
    by_words = scale.cosine_without_words + scale.cosine_by_words * words
    meaning = np.array(cosines, dtype=float)  # None is not a number
    meaning = np.where(np.isnan(meaning), by_words, meaning) - np.array(against)[:, None]
    meaning = _beside_servers(meaning, servers, scale)
    words = scale.word_weight * words
    matches = meaning + words
    if message.goes_on:
        # It may begin another topic, so its own words count beside the earlier message.
        itself = matches[:, 1:].max(axis=1)
        matches[:, 0] = (1 - OWN_SHARE) * matches[:, 0] + OWN_SHARE * itself
    strengths = _strengths(matches, scale)
    used, sure, exact = np.array(uses), np.array(sureness), np.array(are_named)
    if sure.any():
        # The gap to whatever is first, closed as far as that kind of message is known.
        first = max((strengths + used).max(), scale.middle) + LEAD
        used = np.where(sure > 0, np.maximum(used, sure * (first - strengths)), used)
    own_scores = _scores(strengths, exact, scale)
    scores = np.where(used == 0, own_scores, _scores(strengths + used, exact, scale))
    rows, best = np.arange(len(matches)), matches.argmax(axis=1)
    results = (
        scores.tolist(),
        map(tuple, _calibrated(matches[:, 1:], scale).tolist()),
        meaning[rows, best].tolist(),
        words[rows, best].tolist(),
        strengths.tolist(),
        (scores - own_scores).tolist(),
    )
    return list(map(Judged, *results))


def _scores(strengths: Floats, exact: npt.NDArray[np.bool_], scale: Scale) -> Floats:
    scores = _calibrated(strengths, scale)
    return np.where(exact, NAMED + (1 - NAMED) * scores, np.minimum(scores, NAMED))


def fuse(
    evidence: Sequence[MatchEvidence], message: MessageFeatures, scale: Scale = GENERAL
) -> list[float]:
    """Return only the scores."""
    return [judged.score for judged in judge(evidence, message, scale)]


def _word_worths(
    lexicals: Sequence[Sequence[float]], ideals: Sequence[float], scale: Scale
) -> Floats:
    """Return how much of its words' possible worth each candidate reaches, by text."""
    scores = np.array(lexicals, dtype=float)
    # The factor that gives the best candidate its share of the ideal, to a power.
    worths = [
        (best / ideal) ** scale.word_power / best if best > 0 and ideal > 0 else 0.0
        for best, ideal in zip(scores.max(axis=0).tolist(), ideals, strict=True)
    ]
    return np.asarray(scores * np.array(worths))


def _beside_servers(cosines: Floats, servers: Sequence[Sequence[float]], scale: Scale) -> Floats:
    """Take from each cosine what its server is behind the best one. The best server's tools keep
    theirs, so that the scale does not move; with one server for all, nothing changes."""
    means = [server for server in servers if len(server) >= FEWEST_OF_SEVERAL]
    if not means:
        return cosines
    best = np.max(means, axis=0)
    behind = np.array([server or best for server in servers]) - best
    return np.asarray(cosines + scale.server_share * behind)


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
