"""Trains the encoder on all labelled sets but one, and measures it on that one; for each of them.

    python -m tests.bench.leave_one_out ../shared/eval [--held-out metatool] [--work FOLDER]

Needs what `make train-encoder` installs. Every line that is printed is a set that the encoder has
not seen: recall@5 in per cent, by meaning alone and as the selector ranks, before and after, with
the int8 model that production runs. What is done is kept in the folder and gone on with.
"""

import argparse
import dataclasses
import json
import tempfile
from pathlib import Path
from typing import Any

from catalog.embedding.convert import convert_model
from catalog.embedding.onnx import OnnxEmbedder
from discovery.training.fitting import Recipe
from discovery.training.pairs import read_training_set
from discovery.training.recipe import train_adapter
from tests.bench.compare_ranking import SETS, by_fusion, by_meaning, measure, questions


def recalls(folder: Path, embedder: OnnxEmbedder) -> dict[str, float]:
    """recall@5 on a set, by meaning alone and as the selector ranks."""
    asked = list(questions(folder, embedder))
    ways = {"meaning": by_meaning, "selector": by_fusion}
    return {name: round(measure(asked, way)[0], 2) for name, way in ways.items()}


def hold_out(name: str, sets: Path, work: Path, base: OnnxEmbedder, recipe: Recipe) -> Any:
    """Before and after on the set, which nothing was learned from."""
    others = [read_training_set(sets / each) for each in SETS if each != name]
    adapter = train_adapter(others, base, recipe, work / name)
    trained = OnnxEmbedder(convert_model(work / name / "model", adapter))
    before, after = recalls(sets / name, base), recalls(sets / name, trained)
    return {"held out": name, "before": before, "after": after}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="holds one folder for each labelled set")
    parser.add_argument("--held-out", choices=SETS)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "left-out")
    for setting in dataclasses.fields(Recipe):
        kind = type(setting.default)
        parser.add_argument(f"--{setting.name}", type=kind, default=setting.default)
    given = vars(parser.parse_args())
    recipe = Recipe(**{each.name: given[each.name] for each in dataclasses.fields(Recipe)})
    base = OnnxEmbedder(convert_model(given["work"] / "base"))
    for name in [given["held_out"]] if given["held_out"] else SETS:
        outcome = hold_out(name, given["folder"], given["work"], base, recipe)
        print(json.dumps(outcome | dataclasses.asdict(recipe)), flush=True)  # noqa: T201 - its output


if __name__ == "__main__":
    main()
