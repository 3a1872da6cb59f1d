"""Usable rows of callers, and definitions, as a process keeps them beside an index.

Nobody is answered by them alone: the statement that reads candidates compares the versions with
those of its own moment, and reads nothing that the rights do not allow.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache

from acl.platform.database_connections import BinaryValue, rows_of
from acl.rights.statement import rights_sql
from acl.rights.version import version_sql
from catalog.querysets import TABLES
from catalog.search_index.rows import (
    LABEL_SQL,
    IndexLabel,
    Lengths,
    Mask,
    Rows,
    SearchIndex,
    lengths_of_sums,
)
from discovery.select._candidate_rows import CandidateQuery

# Callers who may use the same share their rows: at 20,000 capabilities, 100 kB each.
MOST_CALLERS, MOST_SETS = 10_000, 200
# A definition with its schema is some 2 kB.
MOST_DEFINITIONS = 5_000
Definition = tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class UsableRows:
    """Usable rows in order and as a mask, those that every selection has, and the totals."""

    version: str  # of the rights
    rows: Rows
    mask: Mask
    asking: Mask  # whose calls the rights have approved first
    always: tuple[int, ...]
    tokens: int
    servers: Lengths  # of each server's usable tools, the length of their vectors' sum
    sent: BinaryValue  # their keys, as a parameter

    @property
    def count(self) -> int:
        """Return their number."""
        return len(self.rows)


class IndexUse:
    """Rows by caller and definitions, read for one index. Another index starts anew."""

    def __init__(self, index: SearchIndex) -> None:
        self.index = index
        self._lock = Lock()
        self._callers: LRUCache[Hashable, UsableRows] = LRUCache(MOST_CALLERS)
        self._sets: LRUCache[Hashable, UsableRows] = LRUCache(MOST_SETS)
        # No LRU cache: each selection looks up a hundred, ten times as fast this way.
        self._definitions: dict[int, Definition] = {}

    def at(self, query: CandidateQuery) -> UsableRows | None:
        """Return what is known of the caller."""
        with self._lock:
            return self._callers.get(query.asking)

    def load(self, query: CandidateQuery) -> UsableRows | None:
        """Read the rows in one statement; None if the index is of another version."""
        statement = _statement(united=query.caller.is_united)
        [(version, *label, ids, always, asking, tokens)] = rows_of(
            statement, query.rights(), binary=True
        )
        if IndexLabel(*label) != self.index.label:
            return None
        # None parts the two lists: without it, a tool that is always there and one that asks first
        # could change places.
        key = (query.kind, ids, *always, None, *asking)
        with self._lock:
            equal = self._sets.get(key)
        # Equal rows of another caller are shared, but never their version: each is compared with
        # the rights of the one who asks.
        rows = equal or self._read(version, ids, always, asking, tokens)
        if rows:
            rows = replace(rows, version=version)
            with self._lock:
                self._sets[key], self._callers[query.asking] = equal or rows, rows
        return rows

    def _read(
        self, version: str, sent: bytes | None, always: list[int], asking: list[int], tokens: Any
    ) -> UsableRows | None:
        ids = np.frombuffer(sent or b"", ">i8").astype(np.int64)
        rows = self.index.rows_of(ids)
        core = self.index.rows_of(np.array(always, dtype=np.int64))
        asking_rows = self.index.rows_of(np.array(asking, dtype=np.int64))
        if rows is None or core is None or asking_rows is None:
            return None
        return UsableRows(
            version,
            rows,
            self._mask(rows),
            self._mask(asking_rows),
            tuple(core.tolist()),
            int(tokens or 0),
            lengths_of_sums(self.index, rows),
            sent_ids(ids),
        )

    def _mask(self, rows: Rows) -> Mask:
        mask = np.zeros(len(self.index.ids), dtype=bool)
        mask[rows] = True
        return mask

    def definitions(self, ids: Sequence[int]) -> dict[int, Definition]:
        """Return the definitions that are kept of these."""
        with self._lock:
            definitions = self._definitions
            return {pk: definitions[pk] for pk in ids if pk in definitions}

    def keep(self, definitions: Iterable[Definition]) -> None:
        """Keep what was read at the index's version."""
        with self._lock:
            self._definitions.update({definition[0]: definition for definition in definitions})
            while len(self._definitions) > MOST_DEFINITIONS:
                del self._definitions[next(iter(self._definitions))]  # the oldest


def sent_ids(ids: npt.ArrayLike) -> BinaryValue:
    """Return the ids as Postgres sends an array: as text they cost a millisecond for thousands."""
    ids = np.asarray(ids, dtype=np.int64)
    items = np.zeros(len(ids), dtype=[("length", ">i4"), ("value", ">i8")])
    items["length"], items["value"] = 8, ids
    dimensions = [1, 0, _BIGINT, len(ids), 1] if len(ids) else [0, 0, _BIGINT]
    return BinaryValue(np.array(dimensions, dtype=">i4").tobytes() + items.tobytes())


_BIGINT = 20  # the type's number, in every Postgres
_uses: list[IndexUse] = []


def use_of(index: SearchIndex) -> IndexUse:
    """Return what this process keeps beside the index."""
    for use in _uses:
        if use.index is index:
            return use
    # One at a time: rows are places in an index, and mean other capabilities in the next one.
    _uses[:] = [IndexUse(index)]
    return _uses[0]


@cache
def _statement(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united)}
SELECT {version_sql(TABLES.ended)}, {LABEL_SQL},
       (SELECT string_agg(int8send(id), ''::bytea ORDER BY id) FROM usable),
       ARRAY(SELECT id FROM usable WHERE always ORDER BY id),
       ARRAY(SELECT id FROM usable WHERE mode = 1 ORDER BY id), (SELECT sum(tokens) FROM usable)
"""  # noqa: S608 - constants only
