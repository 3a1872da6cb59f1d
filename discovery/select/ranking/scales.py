"""Scales: per model, the weight of words, and the curve from a match to a relevance."""

from functools import cache
from typing import NamedTuple

from catalog.embedding.shipped_model import read_provenance
from discovery.select.ranking.thresholds import LARGEST_SHARE, SHARE_OF_ODDS

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
    least_margin: float = -0.126
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
    least_margin=-0.126,
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
