"""Candidates of callers who may use most of a very large catalogue, by an index on vectors.

Reading the rights and vectors of all that such a caller may use takes seconds at a million. Where
`manage.py vector_index` has built an index, a statement reads the nearest by it instead. Counting
what they may use takes a second, too, so that is remembered for a minute, with the version of the
rights. The statement compares it with the version of its own moment, and answers only if it is the
same.
"""

from collections.abc import Hashable
from functools import cache
from threading import Lock

from cachetools import TTLCache
from django.conf import settings

from acl.platform.database_connections import rows_of
from acl.rights.statement import rights_sql
from acl.rights.version import version_sql
from catalog.embedding.vector_index import VectorIndex, find_index
from catalog.querysets import TABLES
from discovery.select._candidate_rows import CandidateQuery, Candidates
from discovery.select._nearest_rows import READ, KnownTotals, Unanswered
from discovery.select.candidates import find_among_nearest, find_candidates

# Below this share of the catalogue, the index would mostly read what others may use.
LEAST_SHARE = 0.5
SECONDS = 60
MOST_CALLERS = 1000


class KnownCallers:
    """The totals of callers, each for a minute; None for those whom the index is no use to."""

    def __init__(self) -> None:
        self._known: TTLCache[Hashable, KnownTotals | None] = TTLCache(MOST_CALLERS, SECONDS)
        self._lock = Lock()

    def get(self, key: Hashable) -> KnownTotals | None:
        """Return what is known and recent."""
        with self._lock:
            return self._known.get(key)

    def is_recent(self, key: Hashable) -> bool:
        """Return True if nothing is to be looked up again yet."""
        with self._lock:
            return key in self._known

    def keep(self, key: Hashable, totals: KnownTotals | None) -> None:
        """Remember them."""
        with self._lock:
            self._known[key] = totals

    def forget(self, key: Hashable) -> None:
        """Look them up at the next selection."""
        with self._lock:
            self._known.pop(key, None)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._known.clear()


known_callers = KnownCallers()
_MANY = 20_000  # comparing so many vectors takes Postgres some 40 ms


def find_in_postgres(query: CandidateQuery) -> Candidates:
    """Find the candidates by an index on vectors where it is of use, and else among all rows."""
    key = (query.model, query.asking)
    totals = known_callers.get(key) if query.vectors is not None else None
    if totals:
        nearest = find_among_nearest(query, totals)
        if isinstance(nearest, Candidates):
            return nearest
        if nearest is Unanswered.OTHER_RIGHTS:
            known_callers.forget(key)
    candidates = find_candidates(query)
    # True for who may use so much, in one group, that comparing all of it takes long.
    may_use_many = candidates.usable > min(settings.PEGBOARD_INDEX_MOST, _MANY)
    if (
        may_use_many and query.vectors is not None and not query.caller.is_united
    ) and not known_callers.is_recent(key):
        known_callers.keep(key, _count(query))
    return candidates


def _count(query: CandidateQuery) -> KnownTotals | None:
    """Count what the caller may use; None without an index, or where it is too small a share."""
    index = find_index(query.model)
    if index is None:
        return None
    totals, capabilities = count_usable(query, index)
    return totals if totals.usable >= LEAST_SHARE * capabilities else None


def count_usable(query: CandidateQuery, index: VectorIndex) -> tuple[KnownTotals, int]:
    """Count what the caller may use, and all capabilities."""
    parameters = {**query.rights(), "model": index.model}
    [(version, usable, embedded, tokens, always, all_)] = rows_of(_totals(), parameters)
    return KnownTotals(index, version, usable, embedded, int(tokens or 0), tuple(always)), all_


@cache
def _totals() -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES)},
embedded AS (
  SELECT FROM usable JOIN catalog_embedding e ON e.capability_id = usable.id
  WHERE e.model_id = %(model)s AND e.vector IS NOT NULL LIMIT {READ}
)
SELECT {version_sql(TABLES.ended)}, count(*), (SELECT count(*) FROM embedded), sum(tokens),
       ARRAY(SELECT id FROM usable WHERE always),
       (SELECT count(*) FROM catalog_capability)
FROM usable
"""  # noqa: S608 - constants only
