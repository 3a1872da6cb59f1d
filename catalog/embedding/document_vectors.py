"""Embedding of capability texts, which have several lines; a message has one."""

from collections.abc import Sequence

import numpy as np

from catalog.embedding.embedder import Embedder, Vectors, normalize_rows


def embed_documents(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return one unit vector per `embedding_text`: the mean over its lines."""
    lines = [text.splitlines() or [""] for text in texts]
    if not lines:
        return np.zeros((0, embedder.dimension), dtype=np.float32)
    vectors = embedder.embed([line for text in lines for line in text])
    starts = np.cumsum([0, *(len(text) for text in lines[:-1])])
    return normalize_rows(np.add.reduceat(vectors, starts, axis=0))
