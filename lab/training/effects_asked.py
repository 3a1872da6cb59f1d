"""Fits what tells requests that delete something, and those that only read, from others.

    python -m lab.training.effects_asked ../shared/train

Two logistic regressions on the message's vector, over requests by the effect of their right tool:
both sides weigh the same, for reading in each set. Requests in other languages are read by the
multilingual model, so one vector serves all. Prints for each set left out how many are below the
limit of deletions, and how well reading is told.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import django
import numpy as np
from safetensors.numpy import save_file

SOFTNESS = 1e-3
# Sets of whole skills, assistants and documents: they do not tell what a request does.
LEFT_OUT = {"apibench", "bfcl-none", "lobe-assistants", "rotbench", "skill-evals", "skills-public"}
# Others of a set that are read, in English and in other languages.
MOST_ENGLISH, MOST_FOREIGN, SEED = 500, 1500, 2
FEWEST = 20  # requests of a kind, of a set that is left out
KNOWN = ("read", "write", "delete")


class Request(NamedTuple):
    """A request, its set, and the effect of its right tool, or ""."""

    message: str
    set: str
    foreign: bool
    effect: str

    @property
    def deletes(self) -> bool:
        return self.effect == "delete"


def read_requests(folder: Path) -> list[Request]:
    """Read the requests of one right tool, some of those that delete nothing."""
    from catalog.effects.classifier import assess, declared_effect
    from catalog.formats.loader import load_path
    from discovery.evaluation import read_queries

    dice, requests = np.random.default_rng(SEED), []
    for path in sorted(folder.glob("*/queries.jsonl")):
        if (name := path.parent.name) in LEFT_OUT:
            continue
        effects = {
            tool.identifier: assess(tool, declared=declared_effect(tool)).effect
            for tool in load_path(path.parent / "catalog.jsonl").capabilities
        }
        all_of_set = [
            Request(
                labelled.query,
                name,
                labelled.language not in {"", "en"},
                next((effects[key] for key in labelled.relevant if key in effects), ""),
            )
            for labelled in read_queries(path.parent)
            if len(labelled.relevant) == 1 or not any(map(effects.get, labelled.relevant))
        ]
        requests += [request for request in all_of_set if request.deletes]
        for foreign, most in ((False, MOST_ENGLISH), (True, MOST_FOREIGN)):
            others = [
                each for each in all_of_set if (each.deletes, each.foreign) == (False, foreign)
            ]
            requests += [others[place] for place in dice.permutation(len(others))[:most]]
    return requests


def fit(vectors: Any, deletes: Any, weight: Any = None) -> Any:
    """Return the weights of the vector's numbers, then the constant. Without weights, both sides
    weigh the same."""
    from scipy.optimize import minimize

    if weight is None:
        weight = np.where(deletes, 0.5 / deletes.sum(), 0.5 / (~deletes).sum())
    weight = weight / weight.sum()

    def loss(values: Any) -> tuple[float, Any]:
        chance = 1 / (1 + np.exp(-(vectors @ values[:-1] + values[-1])))
        slope = weight * (chance - deletes)
        worth = -float(weight @ np.log(np.where(deletes, chance, 1 - chance) + 1e-12))
        gradient = np.append(vectors.T @ slope + SOFTNESS * values[:-1], slope.sum())
        return worth + SOFTNESS / 2 * float(values[:-1] @ values[:-1]), gradient

    return minimize(loss, np.zeros(vectors.shape[1] + 1), jac=True, method="L-BFGS-B").x


def fit_reading(vectors: Any, requests: Sequence[Request]) -> Any:
    """Return the weights of what only reads. In each set, both sides weigh the same."""
    sets = np.array([request.set for request in requests])
    effects = np.array([request.effect for request in requests])
    weight = np.zeros(len(requests))
    for name in np.unique(sets):
        for side in (effects == "read", np.isin(effects, KNOWN[1:])):
            rows = (sets == name) & side
            weight[rows] = 1 / max(1, rows.sum())
    used = weight > 0
    return fit(vectors[used], (effects == "read")[used], weight[used])


def _measure(vectors: Any, requests: Sequence[Request]) -> None:
    from discovery.select.judgements import LIMIT

    sets = np.array([request.set for request in requests])
    deletes = np.array([request.deletes for request in requests])
    for name in np.unique(sets):
        out = sets == name
        if deletes[out].sum() >= FEWEST:
            weights = fit(vectors[~out], deletes[~out])
            below = vectors[out] @ weights[:-1] + weights[-1] < LIMIT
            lost, kept = below[deletes[out]].mean(), below[~deletes[out]].mean()
            print(f"{name}: below the limit {lost:.1%} that delete, {kept:.1%} of the others")
    has_effect = np.array([request.effect in KNOWN for request in requests])
    reads = np.array([request.effect == "read" for request in requests])
    for name in np.unique(sets):
        out = (sets == name) & has_effect
        if FEWEST <= reads[out].sum() <= out.sum() - FEWEST:
            weights = fit_reading(vectors[sets != name], [r for r in requests if r.set != name])
            order = np.argsort(np.argsort(vectors[out] @ weights[:-1]))
            lowest, count = reads[out].sum() * (reads[out].sum() - 1) / 2, (~reads[out]).sum()
            area = (order[reads[out]].sum() - lowest) / (reads[out].sum() * count)
            print(f"{name}: area under the curve of reading {area:.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="holds labelled sets")
    folder = parser.parse_args().folder
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
    django.setup()
    from catalog.embedding.multilingual_embedder import shipped_map
    from catalog.embedding.multilingual_model import MultilingualEncoder, prepare_multilingual
    from catalog.embedding.onnx_embedder import OnnxEmbedder
    from catalog.embedding.shipped_model import prepare_model
    from discovery.select.judgements import WEIGHTS_FILE

    requests = read_requests(folder)
    with TemporaryDirectory(prefix="pegboard-deletes-") as temporary:
        root = Path(temporary)
        shipped = OnnxEmbedder(prepare_model(root))
        prepare_multilingual(root)
        encoder = MultilingualEncoder(root)
        rows = [
            shipped_map().apply(encoder.embed([request.message]))[0]
            if request.foreign
            else shipped.embed([request.message])[0]
            for request in requests
        ]
    vectors = np.array(rows, float)
    _measure(vectors, requests)
    weights = {
        "deletes": fit(vectors, np.array([request.deletes for request in requests])),
        "reads": fit_reading(vectors, requests),
    }
    numbers = {name: row.astype(np.float32) for name, row in weights.items()}
    save_file(numbers, WEIGHTS_FILE, {"model": shipped.name})
    print(f"{WEIGHTS_FILE}: {len(requests)} requests")


if __name__ == "__main__":
    main()
