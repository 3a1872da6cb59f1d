"""The shipped model's vectors of the example texts, which come with Pegboard as its weights do.

Embedding 2,500 texts takes seconds, and nobody's first message should wait for that. A file by
another model or of other texts is not used. On other processors the model's int8 arithmetic gives
vectors that differ a little; that moves a cosine less than rewording an example would.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from catalog.embedding.embedder import Vectors, normalize_rows

VECTORS_FILE = Path(__file__).parent / "example_vectors.safetensors"


def digest_of(texts: Sequence[str]) -> str:
    """Return what names the vectors of these texts."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def read_vectors(model: str, digest: str, file: Path = VECTORS_FILE) -> Vectors | None:
    """Return the vectors by the model, or None if the file has no such ones."""
    try:
        with safe_open(file, framework="numpy") as stored:
            known = set(stored.keys())
            if (stored.metadata() or {}).get("model") != model or digest not in known:
                return None
            return normalize_rows(stored.get_tensor(digest).astype(np.float32))
    except (OSError, SafetensorError):
        return None


def write_vectors(model: str, by_digest: Mapping[str, Vectors], file: Path = VECTORS_FILE) -> None:
    """Write vectors with half of their digits, which is more than a cosine shows."""
    halves = {digest: vectors.astype(np.float16) for digest, vectors in by_digest.items()}
    save_file(halves, file, metadata={"model": model})
