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
    # By parts that stay in a core's cache for all vectors. BLAS's own product of matrices takes up
    # to twice the time for 2 to 5 columns, and a product with each vector reads memory each time.
    cosines = np.empty((len(vectors), len(matrix)), dtype=np.float32)
    for start in range(0, len(matrix), _PART):
        part = slice(start, start + _PART)
        for vector, row in zip(vectors, cosines, strict=True):
            np.matmul(matrix[part], vector, out=row[part])
    return cosines


_PART = 512  # rows, of 1.5 kB each


def normalize_rows(vectors: Vectors) -> Vectors:
    """Scale every row to length one; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)
