"""The index of this process, if it keeps one.

Web processes do; commands and workers ask too seldom. After a change the next request reads it
again, though never for more than a twentieth of the time: while an import changes it all the time,
selections go by SQL.
"""

import threading
import time

from django.conf import settings

from catalog.search_index.capability_index import SearchIndex
from catalog.search_index.index_reader import load_index

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
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return self._load(model)
        finally:
            self._lock.release()

    def outdate(self, index: SearchIndex) -> None:
        """Drop an index whose label is not the database's any more."""
        if self._index is index:
            self._index = None

    def clear(self) -> None:
        """Forget everything."""
        self._index, self._not_before = None, 0.0

    def _load(self, model: str) -> SearchIndex | None:
        began = time.monotonic()
        self._index = load_index(model, settings.PEGBOARD_INDEX_MOST)
        now = time.monotonic()
        self._not_before = now + _TIMES_ITS_LOADING * (now - began)
        return self._index


index_cache = IndexCache()
