"""From labelled sets to an adapter: pairs, fitting, and what of the change is kept."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from catalog.embedding.adapter import RANK, Weights, difference, write_adapter
from catalog.embedding.base import Embedder
from catalog.embedding.convert import SOURCE_SHA256, convert_model, read_weights, source_folder
from catalog.embedding.onnx import OnnxEmbedder
from discovery.training.fitting import Recipe, fit
from discovery.training.pairs import TrainingSet, pairs_of, read_training_set

_TOOLS = ("sentence-transformers", "torch", "transformers", "accelerate", "datasets")


class NotInstalled(Exception):
    """What training needs beyond Pegboard is not there; the message says how to get it."""


def train_encoder(
    folders: Sequence[Path], recipe: Recipe, *, work: Path, out: Path
) -> dict[str, Any]:
    """Write the adapter and, beside it, from what and how it was made; the latter."""
    _check_tools()
    sets = [read_training_set(folder) for folder in folders]
    base = OnnxEmbedder(convert_model(work / "base"))
    adapter = train_adapter(sets, base, recipe, work)
    provenance = {
        "adapter": write_adapter(out, adapter),
        "base": {"model": "all-MiniLM-L6-v2", "sha256": SOURCE_SHA256},
        "rank": RANK,
        "recipe": asdict(recipe),
        "sets": [_origin(folder, each) for folder, each in zip(folders, sets, strict=True)],
        "made with": {tool: version(tool) for tool in _TOOLS},
    }
    out.with_suffix(".json").write_text(json.dumps(provenance, indent=1) + "\n", "utf-8")
    return provenance


def train_adapter(
    sets: Sequence[TrainingSet], base: Embedder, recipe: Recipe, work_folder: Path
) -> Weights:
    """What the base model's weights need to choose tools better. `work_folder` keeps how far the
    training is, so that it can be stopped and gone on with."""
    pairs = {each.name: pairs_of(each, base, seed=recipe.seed) for each in sets}
    trained = fit(source_folder(), pairs, recipe, work_folder)
    return difference(read_weights(source_folder() / "model.safetensors"), _weights_of(trained))


def _check_tools() -> None:
    missing = [tool for tool in _TOOLS if find_spec(tool.replace("-", "_")) is None]
    if missing:
        raise NotInstalled(
            f"{', '.join(missing)} must be installed: 'make train-encoder' does it and trains."
        )


def _origin(folder: Path, source: TrainingSet) -> dict[str, Any]:
    files = (folder / "catalog.jsonl", folder / "queries.jsonl")
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    return {"name": source.name, "messages": len(source.messages), "sha256": sums}


def _weights_of(model: Any) -> dict[str, Any]:
    """Its weights by the names of the base model's file."""
    state = model[0].auto_model.state_dict()
    return {name: weights.detach().cpu().numpy() for name, weights in state.items()}
