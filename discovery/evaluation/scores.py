"""Measures of a ranking against labels.

  recall@k    share of the right ids among the first k
  ndcg@k      gains of 1 discounted by log2(rank + 1), divided by the best possible sum
  mrr         1 / rank of the first right id
  complete@k  1 if all right ids are among the first k

Source of the formulas: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques"
(2002).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

DEPTHS = (1, 5, 10)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A message of a labelled set. `alternatives` lists ids that serve as well as a right one,
    `not_relevant` those that do not fit by the set's makers' word."""

    qid: str
    query: str
    relevant: tuple[str, ...]
    history: tuple[str, ...] = ()
    split: str = ""
    part: str = ""
    language: str = ""
    alternatives: dict[str, tuple[str, ...]] = field(default_factory=dict)
    not_relevant: tuple[str, ...] = ()

    def gains(self, ids: Iterable[str]) -> list[int]:
        """Return 1 for each first occurrence of a right id, otherwise 0."""
        right_by_alternative = {
            alternative: right
            for right, others in self.alternatives.items()
            for alternative in others
        }
        unmatched, gains = set(self.relevant), []
        for identifier in ids:
            right = (
                identifier
                if identifier in unmatched
                else right_by_alternative.get(identifier, identifier)
            )
            gains.append(int(right in unmatched))
            unmatched.discard(right)
        return gains


def score_ranking(labelled: Labelled, ids: Sequence[str]) -> dict[str, float]:
    """Compute all measures of one message, which must have a right id."""
    gains, right = labelled.gains(ids), len(labelled.relevant)
    scores = {f"recall@{k}": sum(gains[:k]) / right for k in DEPTHS}
    scores |= {f"ndcg@{k}": _ndcg(gains[:k], right, k) for k in DEPTHS[1:]}
    scores["mrr"] = next((1 / rank for rank, gain in enumerate(gains, 1) if gain), 0.0)
    scores["complete@10"] = float(sum(gains[:10]) == right)
    return scores


def score_selection(labelled: Labelled, ids: Sequence[str]) -> dict[str, float]:
    """Compute recall, precision and length of a selection; an empty one has precision 0."""
    gains, right = labelled.gains(ids), len(labelled.relevant)
    return {
        "recall": sum(gains) / right,
        "precision": sum(gains) / len(ids) if ids else 0.0,
        "served": float(sum(gains) == right),
        "answered": float(sum(gains) > 0),
        "length": float(len(ids)),
    }


def average(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each measure; empty without rows."""
    return {name: fmean(row[name] for row in rows) for name in rows[0]} if rows else {}


def _ndcg(gains: Sequence[int], right: int, depth: int) -> float:
    gained = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
    return gained / sum(1 / math.log2(rank + 1) for rank in range(1, min(depth, right) + 1))
