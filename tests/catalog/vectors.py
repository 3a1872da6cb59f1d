"""Checks of stored vectors against the texts that they stand for."""

import numpy as np

from catalog.embedding.multilingual_embedder import embed_documents
from catalog.embedding.texts import embedding_text
from catalog.models import Capability, Embedding
from tests.catalog.builders import WordyEmbedder


def ids() -> list[int]:
    return list(Capability.objects.order_by("pk").values_list("pk", flat=True))


def expected(capability: Capability) -> list[float]:
    vector: list[float] = embed_documents(WordyEmbedder(), [embedding_text(capability)])[0].tolist()
    return vector


def assert_every_vector_is_of_its_text() -> None:
    for row in Embedding.objects.select_related("capability__integration"):
        assert row.vector_hash == row.text_hash
        assert row.vector is not None
        assert np.allclose(row.vector, expected(row.capability), atol=1e-5)
