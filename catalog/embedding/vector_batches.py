"""Batches of pending vectors: claimed, embedded, and halved where a text fails.

For every table with a row per text and model: capabilities here, listings in the marketplace.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import structlog
from django.conf import settings
from django.db.models import F, Model, QuerySet
from django.db.models.functions import Now

from acl.platform.jobs.rows import update_unlocked
from catalog.embedding.embedder import (
    Embedder,
    EmbedderUnavailable,
    TextRefused,
    Vectors,
)
from catalog.embedding.multilingual_embedder import embed_documents

log = structlog.get_logger(__name__)
Item = TypeVar("Item")
CRASHED = "Embedding this text crashed the worker on every attempt."


class VectorRow(Protocol):
    """A row with the hash of its text and, once embedded, of its vector."""

    pk: Any
    text_hash: str


Row = TypeVar("Row", bound=VectorRow)


@dataclass(frozen=True, slots=True)
class VectorTable(Generic[Row]):
    """A table of vectors. `read` loads claimed rows with their texts, `store` writes vectors."""

    model: type[Model]
    read: Callable[[list[int]], list[Row]]
    text: Callable[[Row], str]
    store: Callable[[Sequence[Row], Vectors], int]

    def pending(self) -> QuerySet[Any]:
        """Return the pending rows that may be tried again."""
        return self._unfinished().filter(attempts__lt=settings.PEGBOARD_EMBEDDING_ATTEMPTS)

    def failed(self) -> QuerySet[Any]:
        """Return the rows given up after too many attempts; a changed text resets them."""
        return self._unfinished().filter(attempts__gte=settings.PEGBOARD_EMBEDDING_ATTEMPTS)

    def record_crashes(self) -> int:
        """Record the reason for rows whose last attempt crashed the process."""
        return self.failed().filter(failure="").update(failure=CRASHED)

    def embed(self, rows: Sequence[tuple[int, int]], embedder: Embedder) -> int:
        """Embed rows, given by key and attempts; return the number of vectors written.

        Raises EmbedderUnavailable.
        """
        fresh = [pk for pk, attempts in rows if attempts == 0]
        # A row that was tried before may have crashed the worker: it must not take others with it.
        retried = [[pk] for pk, attempts in rows if attempts]
        batches = [*chunks(fresh, settings.PEGBOARD_EMBEDDING_BATCH), *retried]
        return sum(self._embed_batch(batch, embedder) for batch in batches)

    def _unfinished(self) -> QuerySet[Any]:
        return self.model._default_manager.exclude(vector_hash=F("text_hash"))

    def _embed_batch(self, batch: Sequence[int], embedder: Embedder) -> int:
        """Embed a batch; if it fails, embed its halves."""
        rows = self._claim(batch)
        if not rows:
            return 0
        try:
            vectors = embed_documents(embedder, [self.text(row) for row in rows])
        except Exception as problem:
            if isinstance(problem, EmbedderUnavailable) and not isinstance(problem, TextRefused):
                self._release(rows)
                raise
            return self._embed_halves(rows, embedder, problem)
        return self.store(rows, vectors)

    def _embed_halves(self, rows: Sequence[Row], embedder: Embedder, problem: Exception) -> int:
        """Halve the batch, so that a bad text fails alone."""
        log.warning("embedding failed", texts=len(rows), exc_info=problem)
        if len(rows) == 1:
            self._note_failure(rows[0], str(problem) or type(problem).__name__)
            return 0
        self._release(rows)
        keys = [row.pk for row in rows]
        return sum(self._embed_batch(half, embedder) for half in chunks(keys, (len(keys) + 1) // 2))

    def _claim(self, batch: Sequence[int]) -> list[Row]:
        """Count the attempt, then read the texts."""
        waiting = self.pending().filter(pk__in=batch)
        # Committed first, because the work may crash the process.
        keys = update_unlocked(waiting, attempts=F("attempts") + 1, sent_at=Now())
        # One statement reads text and hash, so they match whatever is written meanwhile.
        return self.read(keys)

    def _release(self, rows: Sequence[Row]) -> None:
        """Undo the attempt: the provider or another text failed, not these texts."""
        keys = [row.pk for row in rows]
        claimed = self.model._default_manager.filter(pk__in=keys, attempts__gt=0)
        update_unlocked(claimed, attempts=F("attempts") - 1)

    def _note_failure(self, row: Row, reason: str) -> None:
        same = self.model._default_manager.filter(pk=row.pk, text_hash=row.text_hash)
        same.update(failure=reason[:300])


def chunks(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """Split a sequence into pieces of at most `size`."""
    return [items[start : start + size] for start in range(0, len(items), size)]
