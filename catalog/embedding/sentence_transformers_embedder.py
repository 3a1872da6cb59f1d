"""Any sentence-transformers model, by name or path: the extra `[sentence-transformers]`.

Nothing is downloaded: a model given by name must be in the local cache.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from catalog.embedding.embedder import EmbedderUnavailable, Vectors, normalize_rows

BATCH = 32


class SentenceTransformersEmbedder:
    """An embedder using torch on the CPU."""

    def __init__(self, model: str) -> None:
        self._model = _load(model)
        # The name includes the weights' hash, since a path does not identify a model.
        self.name = f"{Path(model).name}-{_fingerprint(self._model)}"
        self.dimension = len(self._encode(["How long is a vector?"])[0])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return normalize_rows(self._encode(texts))

    def _encode(self, texts: Sequence[str]) -> Vectors:
        try:
            vectors = self._model.encode(
                list(texts), batch_size=BATCH, convert_to_numpy=True, show_progress_bar=False
            )
        except RuntimeError as error:  # torch raises it for everything, including out of memory
            raise EmbedderUnavailable(f"The model failed: {error}") from error
        return np.asarray(vectors, dtype=np.float32)


def _load(model: str) -> Any:
    try:
        # The import takes seconds and hundreds of megabytes, so it happens only when chosen.
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise EmbedderUnavailable(
            "sentence-transformers is not installed; install pegboard[sentence-transformers]."
        ) from error
    try:
        return SentenceTransformer(model, device="cpu", local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise EmbedderUnavailable(f"The model {model} cannot be loaded: {error}") from error


def _fingerprint(model: Any) -> str:
    digest = hashlib.sha256()
    for name, weights in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(weights.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:12]
