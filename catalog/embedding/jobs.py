"""Embedding jobs.

An `Embedding` row is pending while its `vector_hash` differs from its `text_hash`. It is written in
the capability's transaction, so losing a queue or worker loses nothing. Jobs are idempotent:
repeated, late or reordered ones end in the same rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import structlog
from django.conf import settings
from django.db import connection
from django.db.models import Count, F, Model, Q, QuerySet
from django.db.models.functions import Now

from acl.platform.jobs import claim_overdue, overdue, update_unlocked
from acl.platform.task_names import EMBED_CAPABILITIES, send_each
from catalog.embedding.configured_embedder import (
    configured_embedder,
    configured_embedder_name,
    embedder_for,
)
from catalog.embedding.embedder import Embedder, EmbedderUnavailable, TextRefused, Vectors
from catalog.embedding.multilingual_embedder import embed_documents
from catalog.embedding.texts import embedding_text
from catalog.models import Embedding, EmbeddingModel

# Batches of pending vectors: claimed, embedded, and halved where a text fails.
#
# For every table with a row per text and model: capabilities here, listings in the marketplace.

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


# What is sent together stands in the queue once.
IDS_PER_TASK = 2_000


def request_vectors(hashes: Mapping[int, str]) -> list[int]:
    """Write the text hash of each capability for every model; return the changed ones.

    Runs in the caller's transaction.
    """
    with connection.cursor() as cursor:
        cursor.execute(_REQUEST_VECTORS, [list(hashes), list(hashes.values())])
        return sorted({capability for (capability,) in cursor.fetchall()})


# ORDER BY: all writers lock capabilities in the same order, so that they cannot deadlock.
_REQUEST_VECTORS = """
INSERT INTO catalog_embedding AS e
  (capability_id, model_id, text_hash, vector_hash, attempts, failure, sent_at)
SELECT c.id, m.id, c.hash, '', 0, '', now()
FROM unnest(%s::bigint[], %s::text[]) AS c (id, hash) CROSS JOIN catalog_embeddingmodel m
ORDER BY c.id, m.id
ON CONFLICT (capability_id, model_id) DO UPDATE
  SET text_hash = EXCLUDED.text_hash, attempts = 0, failure = '', sent_at = now()
  WHERE e.text_hash <> EXCLUDED.text_hash
RETURNING capability_id
"""


def pending_embeddings() -> QuerySet[Embedding]:
    """Return the pending rows that may be tried again."""
    return _TABLE.pending()


def failed_embeddings() -> QuerySet[Embedding]:
    """Return the rows given up after too many attempts; a changed text resets them."""
    return _TABLE.failed()


def embedding_counts() -> dict[str, int]:
    """Count the active model's vectors: embedded, pending, and failed for good."""
    current = Q(vector_hash=F("text_hash"))
    given_up = Q(attempts__gte=settings.PEGBOARD_EMBEDDING_ATTEMPTS)
    counts: dict[str, int] = Embedding.objects.filter(model__active=True).aggregate(
        embedded=Count("pk", filter=current),
        pending=Count("pk", filter=~current & ~given_up),
        failed=Count("pk", filter=~current & given_up),
    )
    return counts


def embed_capabilities(ids: Sequence[int], model_id: int | None = None) -> int:
    """Embed the pending rows of these capabilities; return the number of vectors written."""
    models = maintained_models() if model_id is None else EmbeddingModel.objects.filter(pk=model_id)
    return sum(_embed_by(model, ids) for model in models)


def embed_pending(*, progress: Callable[[int, int], None] | None = None) -> int:
    """Embed all pending rows in this process; return the number of vectors written.

    Raises EmbedderUnavailable.
    """
    configured_embedder()
    waiting = pending_embeddings().filter(model__in=maintained_models()).order_by("capability_id")
    ids = list(waiting.values_list("capability_id", flat=True).distinct())
    vectors = done = 0
    for some in chunks(ids, settings.PEGBOARD_EMBEDDING_BATCH):
        vectors += embed_capabilities(some)
        done += len(some)
        if progress:
            progress(done, len(ids))
    return vectors


def maintained_models() -> QuerySet[EmbeddingModel]:
    """Return the active and the configured model: only these get new vectors."""
    configured = Q(name=configured_embedder_name())
    return EmbeddingModel.objects.filter(configured | Q(active=True)).order_by("-active", "pk")


def _embed_by(model: EmbeddingModel, ids: Sequence[int]) -> int:
    rows = pending_embeddings().filter(model=model, capability__in=ids)
    if not rows.exists():
        return 0
    new_first = rows.order_by("attempts", "capability_id").values_list("pk", "attempts")
    try:
        return _TABLE.embed(list(new_first), embedder_for(model.name))
    except EmbedderUnavailable as problem:
        log.warning("embedder unavailable", model=model.name, reason=str(problem))
        update_unlocked(rows, failure=str(problem)[:300])
        return 0


def _read(keys: list[int]) -> list[Embedding]:
    claimed = Embedding.objects.filter(pk__in=keys).select_related("capability__integration")
    return list(claimed.order_by("capability_id"))


def _store(embeddings: Sequence[Embedding], vectors: Vectors) -> int:
    """Write each vector unless its text has changed since it was read."""
    rows = [
        (
            "[" + ",".join(map(repr, vector.tolist())) + "]",
            embedding.text_hash,
            embedding.pk,
            embedding.text_hash,
        )
        for embedding, vector in zip(embeddings, vectors, strict=True)
    ]
    with connection.cursor() as cursor:
        cursor.executemany(_STORE, rows)
        return int(cursor.rowcount)


_STORE = """
UPDATE catalog_embedding SET vector = %s::vector, vector_hash = %s, attempts = 0, failure = ''
WHERE id = %s AND text_hash = %s
"""


def claim_overdue_capabilities(limit: int) -> list[int]:
    """Return capabilities that have been pending too long, and mark their rows as sent."""
    rows = pending_embeddings().filter(overdue(), model__in=maintained_models())
    keys = claim_overdue(rows.order_by("sent_at", "pk")[:limit])
    claimed = Embedding.objects.filter(pk__in=keys)
    return list(
        claimed.order_by("capability_id").values_list("capability_id", flat=True).distinct()
    )


def record_crashes() -> int:
    """Record the reason for rows whose last attempt crashed the process."""
    return _TABLE.record_crashes()


_TABLE = VectorTable(
    Embedding, read=_read, text=lambda row: embedding_text(row.capability), store=_store
)


def send_embeddings(ids: Sequence[int]) -> None:
    """Enqueue embeddings. If the queue is down, the sweep does it later."""
    some_at_a_time = chunks(ids, IDS_PER_TASK)
    send_each(EMBED_CAPABILITIES, ([list(some)] for some in some_at_a_time))
