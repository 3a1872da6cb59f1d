"""Rights of a caller who may use most of a very large catalogue: applied along an index on vectors.

Expressions for the statement of `candidates.py`. `nearest` reads vectors from the nearest on, asks
the rights about each, and stops when it has enough that may be used. So what is hidden takes no
place. Only these, what they are related to, and what is always selected, are ranked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

from acl.rights.statement import rights_sql, row_rights_sql
from acl.rights.version import version_sql
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


# What stands in place of the number of usable ones where a scan ended before it had enough.
_ENDED_EARLY = -1


class Unanswered(Enum):
    """Reasons to read all rows instead."""

    OTHER_RIGHTS = "the rights are not those for which the totals are known"
    ENDED_EARLY = "pgvector ended the scan before it had enough"

    @classmethod
    def reason(cls, usable: int | None) -> "Unanswered | None":
        """Return the reason by what the statement tells as the number of usable ones."""
        if usable is None:
            return cls.OTHER_RIGHTS
        return cls.ENDED_EARLY if usable == _ENDED_EARLY else None


@dataclass(frozen=True, slots=True)
class KnownTotals:
    """Number and tokens of all that a caller may use, and the version of the rights then."""

    index: VectorIndex
    version: str
    usable: int
    embedded: int  # those with a vector of the index's model, `READ` at most
    tokens: int
    always: Sequence[int]  # primary keys of core and pinned ones

    def parameters(self) -> Mapping[str, Any]:
        """Return the parameters of the statement."""
        return {
            "rights_version": self.version,
            "known_usable": self.usable,
            "known_embedded": self.embedded,
            "known_tokens": self.tokens,
            "always": list(self.always),
        }


def nearest_sql(index: VectorIndex, vectors: int, *, experiences: int) -> str:
    """Return the expressions that end in `usable`, which holds what is ranked."""
    expression, condition = row_rights_sql(TABLES)
    arm = partial(_ARM.format, **index._asdict(), most=_most(vectors), is_usable=condition)
    return _NEAREST.format(
        looked_at=LOOKED_AT,
        waiting=WAITING,
        model=index.model,
        is_usable=condition,
        arms=",\n".join(arm(place=place) for place in range(vectors)),
        union=" UNION ".join(map(_OF_ARM.format, range(vectors))),
        remembered=memory.REMEMBERED if experiences else "",
        allowed=expression,
        rights=rights_sql(TABLES, among=True, whole=True),
    )


def known_totals_sql(vectors: int, *, checked: str) -> str:
    """Return the totals, where the rights are those of then; `ENDED_EARLY` where a scan ended."""
    enough = " AND ".join(_ENOUGH.format(place, _most(vectors)) for place in range(vectors))
    return _KNOWN_TOTALS.format(
        enough=enough, ended_early=_ENDED_EARLY, checked=checked, version=version_sql(TABLES.ended)
    )


def _most(vectors: int) -> int:
    return READ if vectors == 1 else READ_FOR_EACH


# Settings of the transaction, which without one is the statement. The index is read after them,
# since they are a condition of it.
_NEAREST = """tuning AS MATERIALIZED (
  SELECT set_config('hnsw.ef_search', '{looked_at}', true) <> ''
     AND set_config('hnsw.iterative_scan', 'relaxed_order', true) <> '' AS is_set
),
{arms},
nearest AS MATERIALIZED ({union}),
asked (id) AS MATERIALIZED (
  SELECT id FROM nearest
  UNION SELECT unnest(%(always)s::bigint[])
  UNION SELECT id FROM catalog_capability WHERE full_name = ANY (%(names)s::text[])
  UNION SELECT target_id FROM catalog_edge WHERE source_id = ANY (ARRAY(SELECT id FROM nearest))
  UNION SELECT source_id FROM catalog_edge WHERE target_id = ANY (ARRAY(SELECT id FROM nearest))
  UNION (SELECT c.id FROM catalog_embedding e JOIN catalog_capability c ON c.id = e.capability_id
         WHERE NOT (e.vector_hash = e.text_hash) AND e.model_id = {model} AND {is_usable}
         ORDER BY e.sent_at DESC LIMIT {waiting})
  {remembered}
),
{rights},
{allowed}"""
_ARM = """nearest{place} AS MATERIALIZED (
   SELECT c.id
   FROM catalog_embedding e JOIN catalog_capability c ON c.id = e.capability_id
   WHERE e.model_id = {model} AND e.vector IS NOT NULL AND (SELECT is_set FROM tuning)
     AND {is_usable}
   ORDER BY e.vector::halfvec({dimension}) <=> %(v{place})s::vector::halfvec({dimension})
   LIMIT {most}
)"""
_OF_ARM = "SELECT id FROM nearest{}"
_ENOUGH = "(SELECT count(*) FROM nearest{}) >= LEAST(%(known_embedded)s, {})"
_KNOWN_TOTALS = """CASE WHEN {enough} THEN %(known_usable)s::bigint ELSE {ended_early} END
           AS usable, %(known_tokens)s::bigint AS tokens{checked}
  WHERE {version} = %(rights_version)s::text"""
