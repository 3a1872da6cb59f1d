"""Grid search over the weights of a trained model's evidence: recall@5 of held-out sets.

    python -m lab.bench.weighing .pegboard/training ../shared/eval

Prints every combination, and the result for each set if the others choose. Needs the work folder of
`make train-encoder`. `--base` does it for the base model.
"""

import argparse
import tempfile
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from catalog.embedding.model_conversion import PLAIN, convert_model, read_adapter
from catalog.embedding.onnx_embedder import OnnxEmbedder
from discovery.select.ranking.fusion import GENERAL, TRAINED, Scale
from lab.bench.compare_ranking import SETS
from lab.training._evidence import LabelledQuestion, by_fusion, measure, read_questions

POWERS, EVENNESSES, WHOLES = (0.5, 0.75, 1.0), (0.7, 0.85), (2.0, 1.25, 1.0, 0.75)
SHOWN = 6

Recalls = Mapping[Scale, list[float]]


def main() -> None:
    """Print the best combinations, the current one, and the result of letting the others choose."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("sets", type=Path)
    parser.add_argument("--base", action="store_true")
    given = parser.parse_args()
    asked = [_asked(given.sets / name, given.work, base=given.base) for name in SETS]
    recalls = {scale: [_recall(each, scale) for each in asked] for scale in _combinations()}
    console = Console(width=120)
    console.print(_best(recalls))
    console.print(_by_the_others(recalls))


def _combinations() -> list[Scale]:
    return [
        GENERAL._replace(word_power=power, evenness=evenness, whole=whole)
        for power, evenness, whole in product(POWERS, EVENNESSES, WHOLES)
    ]


def _asked(folder: Path, work: Path, *, base: bool) -> list[LabelledQuestion]:
    place = work / f"without-{folder.name}" / "adapter.safetensors"
    adapter = PLAIN if base else read_adapter(place)
    with tempfile.TemporaryDirectory(prefix="pegboard-bench-") as name:
        model = OnnxEmbedder(convert_model(Path(name), adapter))
        return [each for each in read_questions(folder, model) if each.wanted]


def _recall(asked: list[LabelledQuestion], scale: Scale) -> float:
    return measure(asked, lambda question: by_fusion(question, scale))[0]


def _best(recalls: Recalls) -> Table:
    table = Table("word power", "evenness", "whole", *SETS, "mean")
    ranked = sorted(recalls, key=lambda scale: -float(np.mean(recalls[scale])))
    for scale in dict.fromkeys((*ranked[:SHOWN], TRAINED, GENERAL)):
        how = (scale.word_power, scale.evenness, scale.whole)
        figures = (*recalls[scale], float(np.mean(recalls[scale])))
        table.add_row(*map(str, how), *(f"{figure:.2f}" for figure in figures))
    return table


def _by_the_others(recalls: Recalls) -> Table:
    table = Table("left to the others", "word power", "evenness", "whole", "recall@5")
    got = []
    for place, name in enumerate(SETS):
        scale = max(recalls, key=lambda each: sum(recalls[each]) - recalls[each][place])
        got.append(recalls[scale][place])
        how = (scale.word_power, scale.evenness, scale.whole)
        table.add_row(name, *map(str, how), f"{got[-1]:.2f}")
    table.add_row("mean", "", "", "", f"{np.mean(got):.2f}")
    return table


if __name__ == "__main__":
    main()
