"""Leave-one-out evaluation: train on all labelled sets but one, and measure on that one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from catalog.embedding.embedder import Embedder
from catalog.embedding.model_conversion import Adapter, convert_model
from catalog.embedding.onnx_embedder import OnnxEmbedder
from catalog.embedding.sentence_transformers_embedder import SentenceTransformersEmbedder
from catalog.embedding.shipped_model import write_for_sentence_transformers
from discovery.select.ranking.fusion import GENERAL, Scale
from discovery.select.ranking.thresholds import is_direct
from lab.training._calibration import fit_scale
from lab.training._evidence import (
    LabelledQuestion,
    Ranking,
    by_fusion,
    by_meaning,
    by_whole_message,
    measure,
    read_questions,
)

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class HeldOutSet:
    """A held-out set, as the models before and after training rank it."""

    before: Sequence[LabelledQuestion]
    after: Sequence[LabelledQuestion]
    exact: float  # recall@5 by meaning in float32, after


def evaluate_held_out(folder: Path, adapter: Adapter, base: Embedder, work: Path) -> HeldOutSet:
    """Evaluate an adapter, trained on the other sets, on this one."""
    trained = OnnxEmbedder(convert_model(work / "model", adapter))
    exact = SentenceTransformersEmbedder(
        str(write_for_sentence_transformers(work / "exact", adapter))
    )
    return HeldOutSet(
        _read_labelled(folder, base),
        _read_labelled(folder, trained),
        _recalls(_read_labelled(folder, exact), GENERAL)["meaning"],
    )


def _read_labelled(folder: Path, embedder: Embedder) -> list[LabelledQuestion]:
    """Return the messages that have a right answer."""
    return [question for question in read_questions(folder, embedder) if question.wanted]


def build_table(sets: Mapping[str, HeldOutSet]) -> list[dict[str, Any]]:
    """Return a row for each set, with recall@5 in per cent before and after training.

    The scale of the trained model is fitted on the other sets' rows, which come from models that
    did not see those sets.
    """
    return [build_row(name, held_out, scale_without(sets, name)) for name, held_out in sets.items()]


def build_row(name: str, held_out: HeldOutSet, scale: Scale = GENERAL) -> dict[str, Any]:
    """Return the row of one set, with a given scale for the trained model."""
    return {
        "left out": name,
        "before": _recalls(held_out.before, GENERAL),
        "after": _recalls(held_out.after, scale),
        "in float32": held_out.exact,
        "direct": _direct(held_out.after, scale),
    }


def _direct(questions: Sequence[LabelledQuestion], scale: Scale) -> dict[str, int]:
    """Count the messages for which one tool is far ahead, and those where it is right."""
    direct = [
        bool(question.right[scores.argmax()])
        for question in questions
        if is_direct((scores := by_fusion(question, scale)).tolist())
    ]
    return {"messages": len(direct), "right": sum(direct)}


def scale_without(sets: Mapping[str, HeldOutSet], name: str) -> Scale:
    """Fit the scale to all sets but this one."""
    return fit_scale(
        {set_name: held_out.after for set_name, held_out in sets.items() if set_name != name}
    )


def _recalls(questions: Sequence[LabelledQuestion], scale: Scale) -> Figures:
    rankings: dict[str, Ranking] = {
        "meaning": by_meaning,
        "with words": partial(by_whole_message, scale=scale),
        "with clauses": partial(by_fusion, scale=scale),
    }
    return {name: round(measure(questions, ranking)[0], 2) for name, ranking in rankings.items()}
