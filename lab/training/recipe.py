"""The training recipe: from labelled sets to an adapter and its figures on unseen sets."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from catalog.embedding.embedder import Embedder, Vectors
from catalog.embedding.model_conversion import (
    SOURCE_SHA256,
    Adapter,
    convert_model,
    read_adapter,
    source_folder,
    write_adapter,
)
from catalog.embedding.onnx_embedder import OnnxEmbedder
from discovery.evaluation import BadSet
from discovery.select.ranking.fusion import GENERAL, Scale
from lab.training._calibration import fit_scale, reliability
from lab.training._leave_one_out import (
    HeldOutSet,
    build_row,
    build_table,
    evaluate_held_out,
    scale_without,
)
from lab.training._pairs import find_messages_file, has_messages, labelled_pairs
from lab.training.fit import Recipe, fit

_TOOLS = ("sentence-transformers", "torch", "transformers", "peft", "accelerate", "datasets")

Say = Callable[[str], None]


class NotInstalled(Exception):
    """A training dependency is missing; the message says how to install it."""


def train_encoder(
    folders: Sequence[Path],
    recipe: Recipe,
    *,
    only_measured: Sequence[Path] = (),
    work: Path,
    out: Path,
    say: Say,
) -> dict[str, Any]:
    """Train an adapter, write it and its provenance, and return the provenance.

    Each set with messages is first left out of a training of its own, which yields the figures and
    the scale. Sets in `only_measured` are never trained on. The work folder keeps finished steps,
    so that a training can be resumed.
    """
    _check_tools()
    base = CachingEmbedder(OnnxEmbedder(convert_model(work / "base")))
    labelled = [folder for folder in folders if has_messages(folder)]
    if not labelled:
        raise BadSet("None of the folders has messages of its own.")
    held_out_sets = {}
    for folder in labelled if len(labelled) > 1 else ():
        say(f"Training without {folder.name} …")
        others = [other_folder for other_folder in folders if other_folder != folder]
        place = work / f"without-{folder.name}"
        held_out_sets[folder.name] = evaluate_held_out(
            folder, train_adapter(others, base, recipe, place), base, place
        )
        say(json.dumps(build_row(folder.name, held_out_sets[folder.name])))
    say("Training on all of them …")
    adapter = train_adapter(folders, base, recipe, work / "all")
    provenance = {
        "adapter": write_adapter(out, adapter.weights),
        "base": {"model": "all-MiniLM-L6-v2", "licence": "Apache-2.0", "sha256": SOURCE_SHA256},
        "recipe": asdict(recipe),
        "sets": [_origin(folder) for folder in folders],
        "made with": {tool: version(tool) for tool in _TOOLS},
    } | _figures(held_out_sets)
    scale = Scale(**provenance["scale"]) if "scale" in provenance else GENERAL
    provenance["only measured"] = [
        build_row(folder.name, evaluate_held_out(folder, adapter, base, work / "all"), scale)
        for folder in only_measured
    ]
    text = json.dumps(provenance, indent=1, ensure_ascii=False)
    out.with_suffix(".json").write_text(text + "\n", "utf-8")
    return provenance


def train_adapter(folders: Sequence[Path], base: Embedder, recipe: Recipe, work: Path) -> Adapter:
    """Train an adapter on the folders, unless the work folder has it already."""
    path = work / "adapter.safetensors"
    if not path.exists():
        pairs = {
            folder.name: labelled_pairs(
                folder,
                base,
                seed=recipe.seed,
                most=recipe.most if has_messages(folder) else recipe.requests,
            )
            for folder in folders
        }
        write_adapter(path, fit(source_folder(), pairs, recipe, work))
    return read_adapter(path)


def _figures(held_out_sets: dict[str, HeldOutSet]) -> dict[str, Any]:
    """Return what needs several sets: held-out figures, the scale, and its reliability."""
    if len(held_out_sets) < 2:
        return {}
    bins = [
        {"left out": name} | tenth
        for name, held_out in held_out_sets.items()
        for tenth in reliability({name: held_out.after}, scale_without(held_out_sets, name))
    ]
    scale = fit_scale({name: held_out.after for name, held_out in held_out_sets.items()})
    return {"scale": scale._asdict(), "left out": build_table(held_out_sets), "reliability": bins}


def _check_tools() -> None:
    missing = [tool for tool in _TOOLS if find_spec(tool.replace("-", "_")) is None]
    if missing:
        raise NotInstalled(
            f"{', '.join(missing)} must be installed: 'make train-encoder' does it and trains."
        )


def _origin(folder: Path) -> dict[str, Any]:
    """Return the set's source and licence by its README, and its files' checksums."""
    readme = folder / "README.md"
    lines = readme.read_text("utf-8").splitlines() if readme.exists() else []
    used = (folder / "catalog.jsonl", find_messages_file(folder))
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in used}
    source = next((line for line in lines if line.startswith("Source:")), "")
    origin = {"name": folder.name, "source": source.removeprefix("Source:").strip(), "sha256": sums}
    return origin if has_messages(folder) else origin | {"messages": "written for Pegboard"}


class CachingEmbedder:
    """A caching wrapper around another embedder."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vectors] = {}
        self.name, self.dimension = embedder.name, embedder.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._embedder.embed(new), strict=True))
        rows = [self._known[text] for text in texts]
        return np.stack(rows) if rows else self._embedder.embed([])
