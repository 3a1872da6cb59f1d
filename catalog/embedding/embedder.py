"""The interface of embedding providers."""

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


def cosines_of(matrix: Vectors, vectors: Vectors) -> Vectors:
    """Return a row for each of a few vectors: its products with the matrix's rows."""
    # A message has few texts: for 2 to 5 columns BLAS's product of matrices takes twice the time.
    return np.stack([matrix @ vector for vector in vectors])


def normalize_rows(vectors: Vectors) -> Vectors:
    """Scale every row to length one; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)
