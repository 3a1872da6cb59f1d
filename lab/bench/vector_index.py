"""The index on vectors at a million capabilities: time to build it, its size, recall and speed.

Part of `python -m lab.bench.million`. Random vectors are all equally far from each other, which
real ones are not, so they are replaced first: each by one beside that of a text about a tool.
"""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

CHUNK = 20_000
# Lengths of what is added to a vector of length one.
SPREAD = (0.3, 0.8)
DEEP = 10


def place_vectors_like_real_ones() -> None:
    """Replace all vectors by ones around the vectors of some 1,800 texts about tools."""
    from django.db import connection
    from pgvector.psycopg import register_vector

    from catalog.embedding.configured_embedder import answering_embedder
    from discovery.select.example_texts import read_abilities
    from marketplace.offers.kinds.starter import starter_collection

    described = [tool.description for tool in starter_collection().capabilities]
    texts = np.asarray(answering_embedder().embed([*read_abilities(), *described]))
    connection.ensure_connection()
    register_vector(connection.connection)
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM catalog_embedding WHERE vector IS NOT NULL ORDER BY id")
        ids = [pk for (pk,) in cursor.fetchall()]
        cursor.execute("CREATE UNLOGGED TABLE replaced (id bigint, vector vector)")
        with cursor.copy("COPY replaced FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["int8", "vector"])
            for start in range(0, len(ids), CHUNK):
                for row in _beside(texts, ids[start : start + CHUNK]):
                    copy.write_row(row)
        cursor.execute(
            "UPDATE catalog_embedding e SET vector = r.vector FROM replaced r WHERE r.id = e.id"
        )
        cursor.execute("DROP TABLE replaced")
        cursor.execute("VACUUM ANALYZE catalog_embedding")


def _beside(texts: np.ndarray, ids: list[int]) -> Iterator[tuple[int, np.ndarray]]:
    dice = np.random.default_rng(ids[0])
    size = (len(ids), texts.shape[1])
    added = dice.standard_normal(size) / np.sqrt(size[1]) * dice.uniform(*SPREAD, (size[0], 1))
    vectors = texts[dice.integers(0, len(texts), size[0])] + added
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    yield from zip(ids, vectors.astype(np.float32), strict=True)


def build_index() -> dict[str, Any]:
    """Build it, and return how long it took and how large it is."""
    from django.core.management import call_command
    from django.db import connection

    started = time.monotonic()
    call_command("vector_index", "build")
    took = time.monotonic() - started
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_relation_size(oid) FROM pg_class"
            " WHERE relname LIKE 'catalog_embedding_nearest_%'"
        )
        size = cursor.fetchone()[0]
    return {"index built, s": round(took), "index, MB": round(size / 1e6)}


def recall_of_index(messages: list[str]) -> float:
    """Return the share of the ten nearest of all rows among what the selection reads by it."""
    from pgvector import HalfVector, Vector

    from catalog.embedding.configured_embedder import answering_embedder
    from discovery.select._nearest_rows import LOOKED_AT, READ

    shares = []
    for vector in answering_embedder().embed(messages):
        by_index = _nearest(_ORDER_OF_INDEX, HalfVector(vector).to_text(), READ, LOOKED_AT)
        exact = _nearest("vector <=> %s::vector", Vector(vector).to_text(), DEEP, None)
        shares.append(len(exact & by_index) / DEEP)
    return round(float(np.mean(shares)), 3)


_ORDER_OF_INDEX = "vector::halfvec(384) <=> %s::halfvec(384)"


def _nearest(order: str, vector: str, most: int, looked_at: int | None) -> set[int]:
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor:
        if looked_at:
            cursor.execute("SELECT set_config('hnsw.ef_search', %s, true)", [str(looked_at)])
        cursor.execute(
            "SELECT capability_id FROM catalog_embedding"  # noqa: S608 - one of the two above
            " WHERE model_id = (SELECT min(id) FROM catalog_embeddingmodel) AND vector IS NOT NULL"
            f" ORDER BY {order} LIMIT {most}",
            [vector],
        )
        return {pk for (pk,) in cursor.fetchall()}
