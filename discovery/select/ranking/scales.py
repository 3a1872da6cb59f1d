"""Scales: per model, the weight of words, and the curve from a match to a relevance."""

from functools import cache
from typing import NamedTuple

from catalog.embedding.provenance import provenance


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


GENERAL = Scale(0.4, 0.57, 0.18, 0.15, 0.6)
# Models trained to choose tools need words less where they fit badly, and understand clauses by
# themselves. Only the logistic curve is fitted to each such model.
TRAINED = GENERAL._replace(word_power=0.75, evenness=0.85, whole=1.0)


def scale_of(model: str) -> Scale:
    """Return the model's own scale, or the general one."""
    return shipped_scale() if model.endswith(f"-{provenance()['adapter']}") else GENERAL


@cache
def shipped_scale() -> Scale:
    """Return the scale fitted to the shipped model."""
    return Scale(**provenance()["scale"])
