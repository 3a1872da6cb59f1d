"""Comparison of ranking methods on labelled sets, with the selector's own candidates.

    python -m lab.bench.compare_ranking ../shared/eval

Prints the table of lab/choosing.md, with the shipped model. Needs no database
(`lab.training._evidence` says why).
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from catalog.embedding.model_conversion import convert_model
from catalog.embedding.onnx_embedder import OnnxEmbedder
from discovery.select.ranking.fusion import GENERAL, Judged, judge
from discovery.select.ranking.thresholds import PlaceCandidate, choose, cut
from lab.training._evidence import (
    Array,
    LabelledQuestion,
    Ranking,
    by_fusion,
    by_meaning,
    by_whole_message,
    measure,
    read_questions,
)

SETS = ("metatool", "bfcl-pooled", "toollinkos", "seal-tools")


def by_words(question: LabelledQuestion) -> Array:
    return question.words[:, 0]


def by_rank_fusion(question: LabelledQuestion) -> Array:
    arms = (question.cosines[:, 0], question.words[:, 0])
    return np.asarray(sum(1 / (60 + np.argsort(np.argsort(-arm))) for arm in arms))


def _added(question: LabelledQuestion) -> Array:
    """Add cosine and a fixed share of the words (0.2 is best), for the whole and each clause."""
    best = max(float(question.words[:, 0].max()), 1e-9)
    return question.cosines + 0.2 * question.words / best


def by_fixed_weight(question: LabelledQuestion) -> Array:
    return _added(question)[:, 0]


def by_best_clause(question: LabelledQuestion) -> Array:
    added = _added(question)
    return added[:, 1:].max(axis=1) if added.shape[1] > 1 else added[:, 0]


def by_mean_of_whole_and_best_clause(question: LabelledQuestion) -> Array:
    return (by_fixed_weight(question) + by_best_clause(question)) / 2


def by_uneven_fusion(question: LabelledQuestion) -> Array:
    """Rank by the final fusion, but without comparing candidates with the best of their clause."""
    return by_fusion(question, GENERAL._replace(evenness=0.0))


METHODS: dict[str, Ranking] = {
    "meaning alone": by_meaning,
    "words alone": by_words,
    "reciprocal rank fusion": by_rank_fusion,
    "meaning + 0.2 x words / best words": by_fixed_weight,
    "the same, best clause": by_best_clause,
    "the same, mean of whole and best clause": by_mean_of_whole_and_best_clause,
    "words trusted by message, no clauses": by_whole_message,
    "words trusted by message, clauses not evened out": by_uneven_fusion,
    "final": by_fusion,
}


def selection(asked: Sequence[LabelledQuestion]) -> tuple[float, float, float]:
    """Return length, recall and precision of a selection of ten places."""
    return tuple(np.mean([_selected(question) for question in asked], axis=0).tolist())


def _least(question: LabelledQuestion, judged: Sequence[Judged]) -> float:
    share = GENERAL.share(len(question.ideals) - 1)
    return cut([row.score for row in judged], share=share)


def _selected(question: LabelledQuestion) -> tuple[float, float, float]:
    judged = judge(question.evidence, question.features)
    candidates = [
        PlaceCandidate(key, row.score, row.clause_scores) for key, row in enumerate(judged)
    ]
    chosen = choose(candidates, max_tools=10, threshold=_least(question, judged))
    right = sum(bool(question.right[place.candidate.key]) for place in chosen)
    return len(chosen), 100 * right / question.wanted, 100 * right / max(1, len(chosen))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="holds one folder for each labelled set")
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as model:
        embedder = OnnxEmbedder(convert_model(Path(model)))
        asked = {name: list(read_questions(folder / name, embedder)) for name in SETS}
        single = {name: list(read_questions(folder / name, embedder, readings=1)) for name in SETS}
    lines = [("method", *SETS), ("---", *("---" for _ in SETS))]
    for name, method in METHODS.items():
        lines.append((name, *(_cells(measure(asked[each], method)) for each in SETS)))
    lines.append(
        ("final, one reading", *(_cells(measure(single[each], by_fusion)) for each in SETS))
    )
    lines.append(("selected", *(_cells(selection(asked[each])) for each in SETS)))
    print("\n".join(f"| {' | '.join(line)} |" for line in lines))


def _cells(values: Sequence[float]) -> str:
    return " / ".join(f"{value:.1f}" for value in values)


if __name__ == "__main__":
    main()
