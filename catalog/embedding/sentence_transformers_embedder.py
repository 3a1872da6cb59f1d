"""Any sentence-transformers model, by name or path: the extra `[sentence-transformers]`.

Nothing is downloaded: a model given by name must be in the local cache.
"""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from huggingface_hub import try_to_load_from_cache
from huggingface_hub.errors import HFValidationError

from catalog.embedding.embedder import EmbedderUnavailable, Vectors, normalize_rows

BATCH = 32
NOT_INSTALLED = (
    "sentence-transformers is not installed: start with `make run EXTRAS=sentence-transformers`, "
    "or build the image with EXTRAS=sentence-transformers."
)


class SentenceTransformersEmbedder:
    """An embedder using torch on the CPU."""

    def __init__(self, model: str) -> None:
        self._model = _load(model)
        # The name includes the weights' hash, since a path does not identify a model.
        digest = hashlib.sha256()
        for name, weights in sorted(self._model.state_dict().items()):
            digest.update(name.encode())
            digest.update(weights.detach().cpu().contiguous().numpy().tobytes())
        self.name = f"{Path(model).name}-{digest.hexdigest()[:12]}"
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


def find_missing(model: str) -> str:
    """Return what is missing without importing torch, which takes up to a minute; "" if nothing."""
    if find_spec("sentence_transformers") is None:
        return NOT_INSTALLED
    names = () if not model or Path(model).exists() else (model, f"sentence-transformers/{model}")
    if names and not any(_is_cached(name) for name in names):
        return f"The model {model} is neither a folder nor in the local cache."
    return ""


def _is_cached(model: str) -> bool:
    with suppress(HFValidationError):
        return isinstance(try_to_load_from_cache(model, "config.json"), str)
    return False


def _load(model: str) -> Any:
    try:
        # The import takes seconds and hundreds of megabytes, so it happens only when chosen.
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise EmbedderUnavailable(NOT_INSTALLED) from error
    try:
        return SentenceTransformer(model, device="cpu", local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise EmbedderUnavailable(f"The model {model} cannot be loaded: {error}") from error
