"""A cache around an embedder, since training embeds the same texts repeatedly."""

from collections.abc import Sequence

import numpy as np

from catalog.embedding.embedder import Embedder, Vectors


class CachingEmbedder:
    """A caching wrapper around another embedder."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vectors] = {}
        self.name, self.dimension = embedder.name, embedder.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._embedder.embed(new), strict=True))
        rows = [self._known[text] for text in texts]
        return np.stack(rows) if rows else self._embedder.embed([])
