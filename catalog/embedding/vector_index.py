"""An index on the vectors of one model, for callers who may use most of a very large catalogue.

It is an HNSW index of pgvector, on half precision: 1.2 GB for a million vectors of 384 numbers.
`manage.py vector_index` builds and drops it. Who may use a part of the catalogue needs none: their
rights choose few rows, and an index that knows nothing of rights would read past all others.
"""

from typing import NamedTuple

from django.db import connection

# Links of each vector, and candidates while it is built. With 16 and 64 it is built twice as fast,
# and finds less.
LINKS, BUILT_AMONG = 24, 128
LARGEST_DIMENSION = 4000  # of a halfvec that pgvector indexes


class VectorIndex(NamedTuple):
    """The index of a model, by the model's primary key and the length of its vectors."""

    model: int
    dimension: int

    @property
    def name(self) -> str:
        """Return its name in the database."""
        return f"catalog_embedding_nearest_{self.model}"


def find_index(model: str) -> VectorIndex | None:
    """Return the index of the model of that name; None where it has none that is complete."""
    with connection.cursor() as cursor:
        cursor.execute(_FIND, {"model": model})
        row = cursor.fetchone()
    return VectorIndex(*row) if row else None


def create_statement(index: VectorIndex) -> str:
    """Return the statement that builds it; outside a transaction, writers go on meanwhile."""
    return _CREATE.format(
        concurrently="" if connection.in_atomic_block else "CONCURRENTLY",
        **index._asdict(),
        name=index.name,
        links=LINKS,
        among=BUILT_AMONG,
    )


def drop_indexes() -> list[str]:
    """Drop the indexes of all models, as the tables' owner; return their names."""
    with connection.cursor() as cursor:
        cursor.execute(_NAMES)
        names = [name for (name,) in cursor.fetchall()]
        for name in names:
            cursor.execute(f"DROP INDEX {connection.ops.quote_name(name)}")
    return names


def size_of(index: VectorIndex) -> str:
    """Return its size in Postgres's words."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_size_pretty(pg_relation_size(%s::regclass))", [index.name])
        return str(cursor.fetchone()[0])


_FIND = """
SELECT m.id, m.dimension FROM catalog_embeddingmodel m
JOIN pg_class c ON c.relname = 'catalog_embedding_nearest_' || m.id
JOIN pg_index i ON i.indexrelid = c.oid AND i.indisvalid
WHERE m.name = %(model)s
"""
_CREATE = """
CREATE INDEX {concurrently} {name} ON catalog_embedding
USING hnsw ((vector::halfvec({dimension})) halfvec_cosine_ops)
WITH (m = {links}, ef_construction = {among})
WHERE model_id = {model} AND vector IS NOT NULL
"""
_NAMES = r"""
SELECT relname FROM pg_class
WHERE relkind = 'i' AND relname ~ '^catalog_embedding_nearest_\d+$' ORDER BY 1
"""
