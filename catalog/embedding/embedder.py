"""What every provider of embeddings looks like to the rest of Pegboard."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class EmbedderUnavailable(Exception):
    """The provider cannot embed now; the message says why, in words for an admin."""


class TextRefused(EmbedderUnavailable):
    """The provider works, but takes one of these texts not; alone, the others are taken."""


class Embedder(Protocol):
    """Turns texts into vectors of length one, so that their inner product is the cosine."""

    @property
    def name(self) -> str:
        """Names the model; it changes whenever the vectors would."""

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text. Raises EmbedderUnavailable when it cannot."""


def normalised(vectors: Vectors) -> Vectors:
    """Every row scaled to length one; a row of zeros stays as it is."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)
