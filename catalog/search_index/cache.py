"""The index of this process, if it keeps one.

Web processes do; commands and workers ask too seldom. After a change the next request reads it
again, though never for more than a twentieth of the time: while an import changes it all the time,
selections go by SQL.
"""

import threading
import time
from typing import Any

import numpy as np
from django.conf import settings

from acl.platform.database_connections import rows_of
from catalog.search_index.rows import (
    LABEL_SQL,
    IndexLabel,
    SearchIndex,
    StoredEdge,
    build_relation_index,
    build_word_index,
    normalized,
)

# Reads an index from Postgres.
# The label is read first, so an index is never older than its label. If something changed
# meanwhile the label is out of date, and whoever compares it with the database does not use the
# index.

_LABEL = f"SELECT {LABEL_SQL}, (SELECT count(*) FROM catalog_capability)"  # noqa: S608
_NAMES = "SELECT id, full_name, integration_id FROM catalog_capability ORDER BY id"
_VECTORS = """
SELECT e.capability_id, vector_send(e.vector)
FROM catalog_embedding e JOIN catalog_embeddingmodel m ON m.id = e.model_id
WHERE m.name = %(model)s::text AND e.vector IS NOT NULL"""
_WORDS = "SELECT capability_id, sparsevec_send(terms) FROM catalog_lexicalvector"
_EDGES = """
SELECT source_id, target_id, kind, weight, group_id, origin = 'admin' FROM catalog_edge"""
_TRAITS = "SELECT capability_id, name FROM catalog_trait"
_HEADER = 4  # bytes before the numbers of a vector


def load_index(model: str, most: int) -> SearchIndex | None:
    """Read the index for a model; None if there are more capabilities than `most`, or changes are
    not counted."""
    [(catalog_version, index_version, count)] = _rows(_LABEL)
    label = IndexLabel(catalog_version, index_version)
    if not label.is_counted or not 0 < count <= most:
        return None
    names = _rows(_NAMES)
    ids = np.array([pk for pk, *_ in names], dtype=np.int64)
    places = {pk: place for place, (pk, *_) in enumerate(names)}
    matrix, embedded = _matrix(model, places)
    servers = np.unique([server for *_, server in names], return_inverse=True)[1]
    words = [(places[pk], sent) for pk, sent in _rows(_WORDS) if pk in places]
    edges = (
        StoredEdge(places[source], places[target], *rest)
        for source, target, *rest in _rows(_EDGES)
        if source in places and target in places
    )
    traits = [(places[pk], name) for pk, name in _rows(_TRAITS) if pk in places]
    return SearchIndex(
        label=label,
        model=model,
        ids=ids,
        rows_by_name={name: place for place, (_, name, _) in enumerate(names)},
        matrix=matrix,
        embedded=embedded,
        servers=servers.astype(np.int32),
        words=build_word_index(len(ids), words),
        relations=build_relation_index(edges, traits),
    )


def _matrix(model: str, places: dict[int, int]) -> tuple[Any, Any]:
    """Return the vectors by row, and which rows have one."""
    rows = [(places[pk], sent) for pk, sent in _rows(_VECTORS, model=model) if pk in places]
    dimension = (len(rows[0][1]) - _HEADER) // 4 if rows else 1
    matrix = np.zeros((len(places), dimension), dtype=np.float32)
    embedded = np.zeros(len(places), dtype=bool)
    for place, sent in rows:
        matrix[place] = np.frombuffer(sent, ">f4", dimension, _HEADER)
        embedded[place] = True
    return normalized(matrix), embedded


def _rows(statement: str, **parameters: Any) -> list[Any]:
    return rows_of(statement, parameters, binary=True)


_TIMES_ITS_LOADING = 20


class IndexCache:
    """A place for one index, loaded by one thread while the others do without."""

    def __init__(self) -> None:
        self.enabled = False
        self._index: SearchIndex | None = None
        self._not_before = 0.0
        self._lock = threading.Lock()

    def at(self, model: str) -> SearchIndex | None:
        """Return the index for a model; None where this process has none now."""
        index = self._index
        if index is not None and index.model == model:
            return index
        if not self.enabled or not model or time.monotonic() < self._not_before:
            return None
        # Waiting for the thread that loads would cost more than one selection by SQL.
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return self._load(model)
        finally:
            self._lock.release()

    def outdate(self, index: SearchIndex) -> None:
        """Drop an index whose label is not the database's any more."""
        # Another thread may have put a newer one here since this one was found to be old.
        if self._index is index:
            self._index = None

    def clear(self) -> None:
        """Forget everything."""
        self._index, self._not_before = None, 0.0

    def _load(self, model: str) -> SearchIndex | None:
        began = time.monotonic()
        # In time of its own loading, so that a slow machine or a large catalogue loads more seldom.
        self._index = load_index(model, settings.PEGBOARD_INDEX_MOST)
        now = time.monotonic()
        self._not_before = now + _TIMES_ITS_LOADING * (now - began)
        return self._index


index_cache = IndexCache()
