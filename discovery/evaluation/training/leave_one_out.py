"""Trains on all labelled sets but one and measures on that one, for each of them: what the result
would do on tools and messages that it has not seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from catalog.embedding.embedder import Embedder
from catalog.embedding.model_conversion import convert_model
from catalog.embedding.model_export import write_for_sentence_transformers
from catalog.embedding.onnx_embedder import OnnxEmbedder
from catalog.embedding.sentence_transformers_embedder import SentenceTransformersEmbedder
from catalog.embedding.weight_adapter import Adapter
from discovery.evaluation.training.calibration import fit_scale
from discovery.evaluation.training.evidence import (
    Question,
    Ranking,
    by_fusion,
    by_meaning,
    by_whole_message,
    measure,
    questions,
)
from discovery.select.ranking.scales import GENERAL, Scale
from discovery.select.ranking.thresholds import is_direct

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A set that was not learned from, as the model before and after training ranks it."""

    before: Sequence[Question]
    after: Sequence[Question]
    exact: float  # recall@5 by meaning in float32, after


def left_out(folder: Path, adapter: Adapter, base: Embedder, work: Path) -> LeftOut:
    """What the adapter, which was trained on the other sets, does on this one."""
    trained = OnnxEmbedder(convert_model(work / "model", adapter))
    exact = SentenceTransformersEmbedder(
        str(write_for_sentence_transformers(work / "exact", adapter))
    )
    return LeftOut(
        _asked(folder, base),
        _asked(folder, trained),
        _recalls(_asked(folder, exact), GENERAL)["meaning"],
    )


def _asked(folder: Path, embedder: Embedder) -> list[Question]:
    """The messages that something is right for."""
    return [each for each in questions(folder, embedder) if each.wanted]


def table(seen: Mapping[str, LeftOut]) -> list[dict[str, Any]]:
    """A row for each set: recall@5 in per cent before and after. The scale that the trained model's
    selector ranks by was fitted on the other rows, each by a model that did not see its set."""
    return [row(name, each, scale_without(seen, name)) for name, each in seen.items()]


def row(name: str, each: LeftOut, scale: Scale = GENERAL) -> dict[str, Any]:
    """The row of one set, by a scale of the trained model's."""
    return {
        "left out": name,
        "before": _recalls(each.before, GENERAL),
        "after": _recalls(each.after, scale),
        "in float32": each.exact,
        "direct": _direct(each.after, scale),
    }


def _direct(asked: Sequence[Question], scale: Scale) -> dict[str, int]:
    """For how many messages one tool is so far ahead that no model has to choose, and for how many
    of these it is right."""
    far_ahead = [
        bool(question.right[scores.argmax()])
        for question in asked
        if is_direct((scores := by_fusion(question, scale)).tolist())
    ]
    return {"messages": len(far_ahead), "right": sum(far_ahead)}


def scale_without(seen: Mapping[str, LeftOut], name: str) -> Scale:
    """The scale that the sets but this one give."""
    return fit_scale({other: each.after for other, each in seen.items() if other != name})


def _recalls(asked: Sequence[Question], scale: Scale) -> Figures:
    ways: dict[str, Ranking] = {
        "meaning": by_meaning,
        "with words": partial(by_whole_message, scale=scale),
        "with clauses": partial(by_fusion, scale=scale),
    }
    return {name: round(measure(asked, way)[0], 2) for name, way in ways.items()}
