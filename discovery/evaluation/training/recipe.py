"""From labelled sets to an adapter, and to how good it is on sets that it has not seen."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from catalog.embedding.embedder import Embedder
from catalog.embedding.model_conversion import SOURCE_SHA256, convert_model, source_folder
from catalog.embedding.onnx_embedder import OnnxEmbedder
from catalog.embedding.weight_adapter import Adapter, read_adapter, write_adapter
from discovery.evaluation.labelled_sets import BadSet
from discovery.evaluation.training.calibration import fit_scale, reliability
from discovery.evaluation.training.embedding_cache import Remembering
from discovery.evaluation.training.fit import Recipe, fit
from discovery.evaluation.training.leave_one_out import LeftOut, left_out, row, scale_without, table
from discovery.evaluation.training.pairs import has_messages, labelled_pairs, place_of_messages
from discovery.select.ranking.scales import GENERAL, Scale

_TOOLS = ("sentence-transformers", "torch", "transformers", "peft", "accelerate", "datasets")

Say = Callable[[str], None]


class NotInstalled(Exception):
    """What training needs beyond Pegboard is not there; the message says how to get it."""


def train_encoder(
    folders: Sequence[Path],
    recipe: Recipe,
    *,
    only_measured: Sequence[Path] = (),
    work: Path,
    out: Path,
    say: Say,
) -> dict[str, Any]:
    """Write the adapter and, beside it, from what and how it was made and what it does; the latter.

    Each set with messages is left out of a training of its own first, which is what the figures
    and the scale come from; those that are only measured are learned from by none. The work folder
    keeps what is done, to be gone on with.
    """
    _check_tools()
    base = Remembering(OnnxEmbedder(convert_model(work / "base")))
    labelled = [folder for folder in folders if has_messages(folder)]
    if not labelled:
        raise BadSet("None of the folders has messages of its own.")
    seen = {}
    for folder in labelled if len(labelled) > 1 else ():
        say(f"Training without {folder.name} …")
        others = [each for each in folders if each != folder]
        place = work / f"without-{folder.name}"
        seen[folder.name] = left_out(folder, trained(others, base, recipe, place), base, place)
        say(json.dumps(row(folder.name, seen[folder.name])))
    say("Training on all of them …")
    adapter = trained(folders, base, recipe, work / "all")
    provenance = {
        "adapter": write_adapter(out, adapter.weights),
        "base": {"model": "all-MiniLM-L6-v2", "licence": "Apache-2.0", "sha256": SOURCE_SHA256},
        "recipe": asdict(recipe),
        "sets": [_origin(folder) for folder in folders],
        "made with": {tool: version(tool) for tool in _TOOLS},
    } | _figures(seen)
    scale = Scale(**provenance["scale"]) if "scale" in provenance else GENERAL
    provenance["only measured"] = [
        row(folder.name, left_out(folder, adapter, base, work / "all"), scale)
        for folder in only_measured
    ]
    text = json.dumps(provenance, indent=1, ensure_ascii=False)
    out.with_suffix(".json").write_text(text + "\n", "utf-8")
    return provenance


def trained(folders: Sequence[Path], base: Embedder, recipe: Recipe, work: Path) -> Adapter:
    """What the base model's weights need to choose the folders' tools better; made once."""
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


def _figures(seen: dict[str, LeftOut]) -> dict[str, Any]:
    """What only several sets can tell: left-out figures, a scale, and how far to trust it."""
    if len(seen) < 2:
        return {}
    bins = [
        {"left out": name} | tenth
        for name, each in seen.items()
        for tenth in reliability({name: each.after}, scale_without(seen, name))
    ]
    scale = fit_scale({name: each.after for name, each in seen.items()})
    return {"scale": scale._asdict(), "left out": table(seen), "reliability": bins}


def _check_tools() -> None:
    missing = [tool for tool in _TOOLS if find_spec(tool.replace("-", "_")) is None]
    if missing:
        raise NotInstalled(
            f"{', '.join(missing)} must be installed: 'make train-encoder' does it and trains."
        )


def _origin(folder: Path) -> dict[str, Any]:
    """The set's files, and what its README says of source and licence."""
    readme = folder / "README.md"
    lines = readme.read_text("utf-8").splitlines() if readme.exists() else []
    used = (folder / "catalog.jsonl", place_of_messages(folder))
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in used}
    source = next((line for line in lines if line.startswith("Source:")), "")
    told = {"name": folder.name, "source": source.removeprefix("Source:").strip(), "sha256": sums}
    return told if has_messages(folder) else told | {"messages": "written for Pegboard"}
