"""Calibration of a trained model: how the strength of a match becomes a relevance.

It is fitted to messages and tools that the model has not seen, since it is overconfident about
those it was trained on. The relevance of a message's best candidate is the probability that it is
right: a logistic regression on the strength of its match, in which each labelled set has the same
weight. The weight of words is the same for every model: fitted to three sets, it did worse on the
fourth.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from discovery.select.ranking.fusion import TRAINED, Scale, judge
from lab.training._evidence import Array, LabelledQuestion

BINS = 10

Unseen = Mapping[str, Sequence[LabelledQuestion]]


def fit_scale(unseen: Unseen) -> Scale:
    """Fit a scale to the sets."""
    without, by_words = _cosines_by_words(unseen)
    scale = TRAINED._replace(cosine_without_words=without, cosine_by_words=by_words)
    middle, width = _curve(unseen, scale)
    return scale._replace(middle=middle, width=width)


def reliability(unseen: Unseen, scale: Scale) -> list[dict[str, float]]:
    """Return per tenth of relevance the mean relevance of best candidates and how often they are
    right."""
    best = np.vstack([_best(questions, scale) for questions in unseen.values()])
    places = np.minimum((best[:, 0] * BINS).astype(int), BINS - 1)
    tenths = [best[places == place] for place in range(BINS)]
    return [
        {"said": round(float(rows[:, 0].mean()), 3), "right": round(float(rows[:, 2].mean()), 3)}
        | {"messages": len(rows)}
        for rows in tenths
        if len(rows)
    ]


def _curve(unseen: Unseen, scale: Scale) -> tuple[float, float]:
    """Fit the middle and width of the logistic curve through the best candidates."""
    from sklearn.linear_model import LogisticRegression

    best = [_best(questions, scale) for questions in unseen.values()]
    weights = np.concatenate([np.full(len(rows), 1000 / len(rows)) for rows in best])
    rows = np.vstack(best)
    fitted = LogisticRegression(C=1e6).fit(rows[:, 1:2], rows[:, 2], sample_weight=weights)
    slope, start = float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
    return round(-start / slope, 3), round(1 / slope, 3)


def _best(questions: Sequence[LabelledQuestion], scale: Scale) -> Array:
    """Return relevance, strength and correctness of each message's best candidate."""
    rows = []
    for question in questions:
        judged = judge(question.evidence, question.features, scale)
        place = max(range(len(judged)), key=lambda index: judged[index].strength)
        rows.append((judged[place].score, judged[place].strength, question.right[place]))
    return np.array(rows, dtype=float)


def _cosines_by_words(unseen: Unseen) -> tuple[float, float]:
    """Fit the cosines of whole messages as a line over the worth of their words."""
    pairs = np.vstack([np.array(list(_pairs(questions))) for questions in unseen.values()])
    slope, start = np.polyfit(pairs[:, 0], pairs[:, 1], 1)
    return round(float(start), 3), round(float(slope), 3)


def _pairs(questions: Sequence[LabelledQuestion]) -> Iterator[tuple[float, float]]:
    for question in questions:
        whole = question.whole()
        for row in judge(whole.evidence, whole.features, TRAINED):
            yield row.words / TRAINED.word_weight, row.meaning
