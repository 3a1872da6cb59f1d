"""Judgement of the best candidates as a whole: do they fit the message at all.

A logistic regression on what the candidates and the message show says so below its limit, which is
higher where the best candidate is far behind the common abilities (`thresholds.margin`). "Check my
email" is behind them wherever somebody's mail has four tools, and sure of its tools all the same.
`lab.training.nothing_fits` fits the regression; the file has numbers only.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors import safe_open

from catalog.embedding.embedder import Vectors
from catalog.embedding.query_vectors import EmbeddedTexts
from discovery.select.ranking.fusion import Judged, Scale
from discovery.select.ranking.thresholds import is_enough

WEIGHTS_FILE = Path(__file__).parent / "fit.safetensors"
# Log-odds. Messages in other languages are further from their tools.
LIMIT, LIMIT_FOREIGN = -2.5, -3.0
# Whatever the odds are: "nine tools match" is not said of tools whose relevance is lower.
LEAST_RELEVANCE = 0.13
# Whatever the margin is. A message of one or two words says less, for a tool and against one.
SURE, SURE_OF_FEW, _FEW_WORDS = -0.5, -1.25, 2
_TENTH, _OTHERS, _FIRST_WORDS = 10, 20, 3
_MOST_WORDS = 15  # longer messages are no further from a short text


class FitEvidence(NamedTuple):
    """Evidence for the best candidates, and against them."""

    margin: float  # how much nearer the best one is than the common abilities
    strength: float  # of the best match
    ahead: float  # of the tenth: many that match alike are the message's fault
    others: float  # mean strength of the next twenty
    agree: float  # 1 if the best one is among the three best by words
    words: float  # informative ones of the message
    need: float  # log-odds that such a message needs a tool, whatever there is


def something_fits(
    judged: Sequence[Judged],
    worded: Sequence[float],
    distance: float | None,
    scale: Scale,
    *,
    words: int,
    need: float | None,
    foreign: bool = False,
) -> bool:
    """Return False if no candidate fits a message with so many informative words.

    `worded` has the candidates' word scores for the text that matches best, `distance` is the
    margin over the common abilities (None: words decide), `need` the message's need of tools.
    """
    is_ahead = is_enough(distance, least=scale.limit(words))
    if distance is None or need is None:
        return is_ahead
    if max(item.score for item in judged) < LEAST_RELEVANCE:
        return False
    odds = odds_of_fit(gather_evidence(judged, worded, distance, words=words, need=need))
    if is_ahead:
        return odds >= (LIMIT_FOREIGN if foreign else LIMIT)
    return odds >= (SURE_OF_FEW if words <= _FEW_WORDS else SURE)


def gather_evidence(
    judged: Sequence[Judged], worded: Sequence[float], margin: float, *, words: int, need: float
) -> FitEvidence:
    """Return the evidence of candidates, with their word scores for the best matching text."""
    strengths = np.array([item.strength for item in judged])
    order = np.argsort(-strengths, kind="stable")
    top = strengths[order]
    by_words = np.argsort(-np.array(worded), kind="stable")[:_FIRST_WORDS]
    return FitEvidence(
        margin,
        top[0],
        top[0] - top[:_TENTH][-1],
        top[1 : _OTHERS + 1].mean() if len(top) > 1 else 0.0,
        float(order[0] in by_words),
        min(words, _MOST_WORDS),
        need,
    )


def odds_of_fit(evidence: FitEvidence) -> float:
    """Return the log-odds that something fits."""
    weights = _read_weights().evidence
    return float(np.array(evidence) @ weights[:-1] + weights[-1])


def need_of_tools(embedded: EmbeddedTexts | None) -> float | None:
    """Return the log-odds that the message needs a tool rather than an answer; None if unknown.

    "Write a poem about autumn" needs none, whatever is installed.
    """
    learned = _read_weights()
    if embedded is None or embedded.model != learned.model:
        return None
    return float(embedded.vectors[0] @ learned.message[:-1] + learned.message[-1])


class _Weights(NamedTuple):
    model: str
    message: Vectors
    evidence: Vectors


@lru_cache(maxsize=1)
def _read_weights() -> _Weights:
    with safe_open(WEIGHTS_FILE, "numpy") as file:
        names = ("message", "evidence")
        return _Weights((file.metadata() or {})["model"], *map(file.get_tensor, names))
