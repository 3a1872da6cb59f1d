"""The interface of embedding providers, and the embedding of texts with several lines."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class EmbedderUnavailable(Exception):
    """The provider cannot embed now; the message gives the reason for an admin."""


class EmbedderLoading(EmbedderUnavailable):
    """The provider is being loaded, and will answer soon."""


class TextRefused(EmbedderUnavailable):
    """The provider works, but refuses one of these texts."""


class Embedder(Protocol):
    """An embedding model. Vectors have length one, so their inner product is the cosine."""

    @property
    def name(self) -> str:
        """Return the model's name; it changes whenever its vectors would."""

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, or raise EmbedderUnavailable."""


def normalize_rows(vectors: Vectors) -> Vectors:
    """Scale every row to length one; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def embed_documents(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return one unit vector per `embedding_text`: the mean over its lines."""
    # A capability's text has several lines; a message has one.
    lines = [text.splitlines() or [""] for text in texts]
    if not lines:
        return np.zeros((0, embedder.dimension), dtype=np.float32)
    vectors = embedder.embed([line for text in lines for line in text])
    starts = np.cumsum([0, *(len(text) for text in lines[:-1])])
    return normalize_rows(np.add.reduceat(vectors, starts, axis=0))
