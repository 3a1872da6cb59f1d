"""Rights of a caller who may use most of a very large catalogue: applied along an index on vectors.

Expressions for the statement of `candidates.py`. `nearest` reads vectors from the nearest on, asks
the rights about each, and stops when it has enough that may be used. So what is hidden takes no
place. Only these, what they are related to, and what is always selected, are ranked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acl.rights.rights_statement import rights_sql, row_rights_sql
from catalog.embedding.vector_index import VectorIndex
from catalog.querysets import TABLES
from discovery.learning import memory

# How many usable ones are read by the index, for one text and for each of several: many more than
# are nearest enough, since their words are compared, too.
READ, READ_FOR_EACH = 400, 200
# Of those that wait to be embedded, the newest: their words find them meanwhile.
WAITING = 400
# The index looks at so many at a time, which is the most that pgvector allows.
LOOKED_AT = 1000


@dataclass(frozen=True, slots=True)
class KnownTotals:
    """Number and tokens of all that a caller may use, and the digest of the rights then."""

    index: VectorIndex
    digest: str
    usable: int
    tokens: int
    always: Sequence[int]  # primary keys of core and pinned ones

    def parameters(self) -> Mapping[str, Any]:
        """Return the parameters of the statement."""
        return {
            "digest": self.digest,
            "known_usable": self.usable,
            "known_tokens": self.tokens,
            "always": list(self.always),
        }


def nearest_sql(index: VectorIndex, vectors: int, *, experiences: int) -> str:
    """Return the expressions that end in `usable`, which holds what is ranked."""
    expression, condition = row_rights_sql(TABLES)
    arms = [
        _ARM.format(
            place=place,
            **index._asdict(),
            most=READ if vectors == 1 else READ_FOR_EACH,
            is_usable=condition,
        )
        for place in range(vectors)
    ]
    return _NEAREST.format(
        looked_at=LOOKED_AT,
        waiting=WAITING,
        arms="\n  UNION ".join(arms),
        remembered=memory.REMEMBERED if experiences else "",
        allowed=expression,
        rights=rights_sql(TABLES, among=True, digest=True),
    )


# Settings of the transaction, which without one is the statement. The index is read after them,
# since they are a condition of it.
_NEAREST = """tuning AS MATERIALIZED (
  SELECT set_config('hnsw.ef_search', '{looked_at}', true) <> ''
     AND set_config('hnsw.iterative_scan', 'relaxed_order', true) <> '' AS is_set
),
nearest AS MATERIALIZED (
  {arms}
),
asked (id) AS MATERIALIZED (
  SELECT id FROM nearest
  UNION SELECT unnest(%(always)s::bigint[])
  UNION SELECT id FROM catalog_capability WHERE full_name = ANY (%(names)s::text[])
  UNION SELECT target_id FROM catalog_edge WHERE source_id = ANY (ARRAY(SELECT id FROM nearest))
  UNION SELECT source_id FROM catalog_edge WHERE target_id = ANY (ARRAY(SELECT id FROM nearest))
  UNION (SELECT capability_id FROM catalog_embedding
         WHERE NOT (vector_hash = text_hash) ORDER BY sent_at DESC LIMIT {waiting})
  {remembered}
),
{rights},
{allowed}"""
_ARM = """(SELECT c.id
   FROM catalog_embedding e JOIN catalog_capability c ON c.id = e.capability_id
   WHERE e.model_id = {model} AND e.vector IS NOT NULL AND (SELECT is_set FROM tuning)
     AND {is_usable}
   ORDER BY e.vector::halfvec({dimension}) <=> %(v{place})s::vector::halfvec({dimension})
   LIMIT {most})"""
KNOWN_TOTALS = """%(known_usable)s::bigint AS usable, %(known_tokens)s::bigint AS tokens{checked}
  WHERE (SELECT digest FROM rights_digest) = %(digest)s::text"""
