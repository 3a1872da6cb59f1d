"""Rows of an index that a caller may use, as they were at one version of rights and catalogue.

Nobody is answered by them alone: the statement that reads candidates compares their digest with
the rights of its own moment, and reads nothing that those do not allow.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cache
from threading import Lock

import numpy as np
from cachetools import LRUCache

from acl.platform.prepared_statements import rows_of
from acl.rights.statement import rights_sql
from catalog.querysets import TABLES
from catalog.search_index.relations import Mask
from catalog.search_index.rows import LABEL_SQL, IndexLabel, Lengths, SearchIndex, lengths_of_sums
from catalog.search_index.words import Rows
from discovery.select._candidate_rows import CandidateQuery

# Callers with the same rights share their rows: at 20,000 capabilities, 100 kB each.
MOST_CALLERS, MOST_SETS = 10_000, 200


@dataclass(frozen=True, slots=True, eq=False)
class UsableRows:
    """Usable rows in order and as a mask, those that every selection has, and the totals."""

    digest: str
    rows: Rows
    mask: Mask
    always: tuple[int, ...]
    tokens: int
    servers: Lengths  # of each server's usable tools, the length of their vectors' sum

    @property
    def count(self) -> int:
        """Return their number."""
        return len(self.rows)


class UsableRowsCache:
    """Rows by caller, for one index. Another index starts it anew."""

    def __init__(self, index: SearchIndex) -> None:
        self.index = index
        self._lock = Lock()
        self._digests: LRUCache[Hashable, Hashable] = LRUCache(MOST_CALLERS)
        self._sets: LRUCache[Hashable, UsableRows] = LRUCache(MOST_SETS)

    def at(self, query: CandidateQuery) -> UsableRows | None:
        """Return what is known of the caller."""
        with self._lock:
            return self._sets.get(self._digests.get(query.asking))

    def load(self, query: CandidateQuery) -> UsableRows | None:
        """Read the rows in one statement; None if the index is of another version."""
        statement = _statement(united=query.caller.is_united)
        [(digest, *label, ids, always, tokens)] = rows_of(statement, query.rights(), binary=True)
        if IndexLabel(*label) != self.index.label:
            return None
        key = (digest, query.kind, query.unavailable, query.only_here)
        with self._lock:
            cached = self._sets.get(key)
        rows = cached or self._read(digest, ids, always, tokens)
        if rows:
            with self._lock:
                self._sets[key], self._digests[query.asking] = rows, key
        return rows

    def _read(
        self, digest: str, ids: bytes | None, always: list[int], tokens: int | None
    ) -> UsableRows | None:
        rows = self.index.rows_of(np.frombuffer(ids or b"", ">i8").astype(np.int64))
        core = self.index.rows_of(np.array(always, dtype=np.int64))
        if rows is None or core is None:
            return None
        mask = np.zeros(len(self.index.ids), dtype=bool)
        mask[rows] = True
        lengths = lengths_of_sums(self.index, rows)
        return UsableRows(digest, rows, mask, tuple(core.tolist()), int(tokens or 0), lengths)


_caches: list[UsableRowsCache] = []


def usable_rows_of(index: SearchIndex) -> UsableRowsCache:
    """Return the cache for this index."""
    for rows_cache in _caches:
        if rows_cache.index is index:
            return rows_cache
    _caches[:] = [UsableRowsCache(index)]
    return _caches[0]


@cache
def _statement(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united, digest=True)}
SELECT (SELECT digest FROM rights_digest), {LABEL_SQL},
       (SELECT string_agg(int8send(id), ''::bytea ORDER BY id) FROM usable),
       ARRAY(SELECT id FROM usable WHERE always ORDER BY id), (SELECT sum(tokens) FROM usable)
"""  # noqa: S608 - constants only
