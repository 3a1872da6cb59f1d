"""Fits the map from multilingual-e5-small into the shipped model's space, and writes it.

    python -m lab.training.language_map

Both models read the same English messages; the map is the ridge regression from one's vectors to
the other's. It never sees another language: that messages of the same meaning lie together, the
multilingual model knows. Needed again after each new adapter; takes a minute on a quiet core.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from safetensors.numpy import save_file

from catalog.embedding.embedder import Vectors
from catalog.embedding.multilingual_model import (
    MAP_FILE,
    MultilingualEncoder,
    prepare_multilingual,
)
from catalog.embedding.onnx_embedder import OnnxEmbedder
from catalog.embedding.shipped_model import prepare_model
from discovery.evaluation.labelled_sets import read_queries
from lab.training._pairs import REQUESTS

# Every fourth of the messages that were written for the training: twice as many change nothing.
EVERY = 4
# Ridge penalty per message. Half and double give the same recall.
SOFTNESS = 2e-4


def fit_map(source_vectors: Vectors, target_vectors: Vectors) -> Vectors:
    """Return the matrix of 385 rows, the last one for the constant."""
    source, target = source_vectors.astype(np.float64), target_vectors.astype(np.float64)
    center, middle = source.mean(axis=0), target.mean(axis=0)
    near = source - center
    penalty = SOFTNESS * len(source) * np.eye(source.shape[1])
    matrix = np.linalg.solve(near.T @ near + penalty, near.T @ (target - middle))
    return np.vstack([matrix, middle - center @ matrix]).astype(np.float32)


def main(target: Path = MAP_FILE) -> None:
    """Fit and write the map."""
    messages = [query.query for query in read_queries(REQUESTS / "toucan-mcp-catalog")][::EVERY]
    with TemporaryDirectory(prefix="pegboard-languages-") as folder:
        root = Path(folder)
        shipped = OnnxEmbedder(prepare_model(root))
        prepare_multilingual(root)
        matrix = fit_map(MultilingualEncoder(root).embed(messages), shipped.embed(messages))
    about = {"target": shipped.name, "messages": str(len(messages)), "softness": str(SOFTNESS)}
    save_file({"matrix": matrix.astype(np.float16)}, target, metadata=about)
    print(f"{target}: {len(messages)} messages", file=sys.stderr)


if __name__ == "__main__":
    main()
