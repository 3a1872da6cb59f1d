"""Fits the map from multilingual-e5-small into the shipped model's space, and writes it.

    python -m lab.training.language_map ../shared/train

First both models read the same English messages, and the map is the ridge regression from one's
vectors to the other's. Then requests in other languages for tools described in English pull it
towards their tools (`train`). Only the messages are mapped there, so no stored vector
of an English text changes. Needed again after each new adapter; takes ten minutes on a quiet core.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
from django.conf import settings
from safetensors.numpy import save_file

from catalog.embedding.embedder import Embedder, Vectors, normalize_rows
from catalog.embedding.multilingual_embedder import embed_documents
from catalog.embedding.multilingual_model import (
    MAP_FILE,
    MultilingualEncoder,
    prepare_multilingual,
)
from catalog.embedding.onnx_embedder import OnnxEmbedder
from catalog.embedding.shipped_model import prepare_model
from catalog.embedding.texts import embedding_text
from catalog.formats.loader import load_path
from discovery.evaluation import read_queries
from lab.training._pairs import REQUESTS

# Every fourth of the messages that were written for the training: twice as many change nothing.
EVERY = 4
# Ridge penalty per message. Half and double give the same recall.
SOFTNESS = 2e-4
# Sets whose foreign requests have tools described in English.
SETS = ("home-intents", "lobe-assistants", "tldr", "bfcl-rest", "skill-evals")
STEPS, BATCH, RATE, TEMPERATURE, HOLD, SEED = 800, 192, 3e-4, 20.0, 2.0, 7
# Share of the training's change that is kept: sets left out gain as much as by all of it, and a
# request among thousands of other tools loses nothing.
KEPT = 0.5


@dataclass(frozen=True, slots=True)
class ForeignRequests:
    """Requests in other languages, by the vectors of both sides, and the places of right tools."""

    requests: Vectors
    tools: Vectors
    right: Sequence[Sequence[int]]


def fit_map(source_vectors: Vectors, target_vectors: Vectors) -> Vectors:
    """Return the matrix of 385 rows, the last one for the constant."""
    source, target = source_vectors.astype(np.float64), target_vectors.astype(np.float64)
    center, middle = source.mean(axis=0), target.mean(axis=0)
    near = source - center
    penalty = SOFTNESS * len(source) * np.eye(source.shape[1])
    matrix = np.linalg.solve(near.T @ near + penalty, near.T @ (target - middle))
    return np.vstack([matrix, middle - center @ matrix]).astype(np.float32)


def read_foreign(folder: Path, encoder: MultilingualEncoder, shipped: Embedder) -> ForeignRequests:
    """Read and embed a labelled set's requests that are not English, and all of its tools."""
    tools = load_path(folder / "catalog.jsonl").capabilities
    places = {tool.identifier: place for place, tool in enumerate(tools)}
    requests = [
        (labelled.query, [places[key] for key in labelled.relevant if key in places])
        for labelled in read_queries(folder)
        if labelled.language not in {"", "en"}
    ]
    requests = [(query, right) for query, right in requests if right]
    return ForeignRequests(
        encoder.embed([query for query, _ in requests]),
        embed_documents(shipped, [embedding_text(tool) for tool in tools]),
        [right for _, right in requests],
    )


def train(start: Vectors, sets: Sequence[ForeignRequests]) -> Vectors:
    """Return the map after the training.

    A mapped vector z becomes z + b + (z + b) W. The loss is the softmax over the set's own tools,
    and the distance to the vector as it was.
    """
    dice, size = np.random.default_rng(SEED), start.shape[1]
    # W and b in one matrix, as in the map.
    change, slopes, squares = (np.zeros((size + 1, size), np.float32) for _ in range(3))
    counts = np.array([len(each.requests) for each in sets], float)
    for step in range(1, STEPS + 1):
        chosen = sets[dice.choice(len(sets), p=counts / counts.sum())]
        rows = dice.choice(len(chosen.requests), min(BATCH, len(chosen.requests)), replace=False)
        right = [dice.choice(chosen.right[row]) for row in rows]
        mapped = chosen.requests[rows] @ start[:-1] + start[-1]
        slope = _slope(change, mapped, chosen.tools, right)
        slopes = 0.9 * slopes + 0.1 * slope
        squares = 0.999 * squares + 0.001 * slope**2
        root = np.sqrt(squares / (1 - 0.999**step)) + 1e-8
        change = np.asarray(change - RATE * slopes / (1 - 0.9**step) / root, np.float32)
    matrix = np.eye(size, dtype=np.float32) + change[:-1]
    return np.vstack([start[:-1] @ matrix, (start[-1] + change[-1]) @ matrix])


def _slope(
    change: Vectors, mapped: Vectors, tools: Vectors, right: Sequence[int]
) -> npt.NDArray[np.float32]:
    moved = mapped + change[-1]
    turned = moved + moved @ change[:-1]
    lengths = np.linalg.norm(turned, axis=1, keepdims=True)
    unit = turned / lengths
    matches = TEMPERATURE * (unit @ tools.T)
    chances = np.exp(matches - matches.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    chances[np.arange(len(right)), right] -= 1
    by_unit = (TEMPERATURE * (chances @ tools) - HOLD * normalize_rows(mapped)) / len(right)
    by_turned = (by_unit - unit * (by_unit * unit).sum(axis=1, keepdims=True)) / lengths
    by_moved = (by_turned + by_turned @ change[:-1].T).sum(axis=0)
    return np.vstack([moved.T @ by_turned, by_moved]).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="holds the sets of foreign requests")
    folder = parser.parse_args().folder
    settings.configure(PEGBOARD_MULTILINGUAL=False)
    messages = [query.query for query in read_queries(REQUESTS / "toucan-mcp-catalog")][::EVERY]
    with TemporaryDirectory(prefix="pegboard-languages-") as temporary:
        root = Path(temporary)
        shipped = OnnxEmbedder(prepare_model(root))
        prepare_multilingual(root)
        encoder = MultilingualEncoder(root)
        start = fit_map(encoder.embed(messages), shipped.embed(messages))
        sets = [read_foreign(folder / name, encoder, shipped) for name in SETS]
    matrix = start + KEPT * (train(start, sets) - start)
    requests = sum(len(each.requests) for each in sets)
    about = {
        "target": shipped.name,
        "messages": str(len(messages)),
        "softness": str(SOFTNESS),
        "requests": str(requests),
    }
    save_file({"matrix": matrix.astype(np.float16)}, MAP_FILE, metadata=about)
    print(f"{MAP_FILE}: {len(messages)} messages, {requests} foreign requests")


if __name__ == "__main__":
    main()
