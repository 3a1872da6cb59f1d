"""Embedding: promises, and the work that keeps them.

A promise is an `Embedding` row whose `vector_hash` is not its `text_hash`. It is written with the
capability, so nothing is lost with a queue or a worker; doing the work twice, late or in any order
ends in the same rows.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from catalog.embedding.configured_embedder import (
    configured_embedder,
    configured_embedder_name,
    embedder_named,
)
from catalog.embedding.document_vectors import embed_documents
from catalog.embedding.embedder import Embedder, EmbedderUnavailable, TextRefused, Vectors
from catalog.embedding.embedding_text import embedding_text
from catalog.models import Embedding, EmbeddingModel

log = structlog.get_logger(__name__)
Item = TypeVar("Item")
DIED = "Embedding it ended the worker every time."


def promise_vectors(hashes: Mapping[int, str]) -> list[int]:
    """Note the text hash of each capability for every model; the capabilities with a new text.

    Part of the caller's transaction. In the order of the capabilities, as all writers are, so that
    none waits for another in a circle.
    """
    with connection.cursor() as cursor:
        cursor.execute(_PROMISE, [list(hashes), list(hashes.values())])
        return sorted({capability for (capability,) in cursor.fetchall()})


_PROMISE = """
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


def pending() -> QuerySet[Embedding]:
    """Promises that are open and have not failed too often."""
    return Embedding.objects.exclude(vector_hash=F("text_hash")).filter(
        attempts__lt=settings.PEGBOARD_EMBEDDING_ATTEMPTS
    )


def failed() -> QuerySet[Embedding]:
    """Promises that were given up; a changed text opens them again."""
    return Embedding.objects.exclude(vector_hash=F("text_hash")).filter(
        attempts__gte=settings.PEGBOARD_EMBEDDING_ATTEMPTS
    )


def embed_capabilities(ids: Sequence[int], model_id: int | None = None) -> int:
    """Embed what is pending of these capabilities; how many vectors were written."""
    models = kept_models() if model_id is None else EmbeddingModel.objects.filter(pk=model_id)
    return sum(_embed_by(model, ids) for model in models)


def embed_pending(*, progress: Callable[[int, int], None] | None = None) -> int:
    """Embed in this process whatever waits; how many vectors were written.

    Raises EmbedderUnavailable where nothing can be embedded now.
    """
    configured_embedder()
    waiting = pending().filter(model__in=kept_models()).order_by("capability_id")
    ids = list(waiting.values_list("capability_id", flat=True).distinct())
    written = done = 0
    for some in chunks(ids, settings.PEGBOARD_EMBEDDING_BATCH):
        written += embed_capabilities(some)
        done += len(some)
        if progress:
            progress(done, len(ids))
    return written


def kept_models() -> QuerySet[EmbeddingModel]:
    """The model that answers, and the one that the settings name: others get no new vectors."""
    configured = Q(name=configured_embedder_name())
    return EmbeddingModel.objects.filter(configured | Q(active=True)).order_by("-active", "pk")


def _embed_by(model: EmbeddingModel, ids: Sequence[int]) -> int:
    promises = pending().filter(model=model, capability__in=ids)
    if not promises.exists():
        return 0
    try:
        embedder = embedder_named(model.name)
        return sum(_embed_batch(batch, embedder) for batch in _batches(promises))
    except EmbedderUnavailable as problem:
        log.warning("embedder unavailable", model=model.name, reason=str(problem))
        _update_unlocked(promises, failure=str(problem)[:300])
        return 0


def _batches(promises: QuerySet[Embedding]) -> list[Sequence[int]]:
    """New ones together; alone what was begun before, since it may have ended the worker."""
    rows = list(promises.order_by("attempts", "capability_id").values_list("pk", "attempts"))
    size = settings.PEGBOARD_EMBEDDING_BATCH
    fresh = [pk for pk, attempts in rows if attempts == 0]
    return [*chunks(fresh, size), *([pk] for pk, attempts in rows if attempts)]


def _embed_batch(batch: Sequence[int], embedder: Embedder) -> int:
    """Embed the batch, or its halves where it fails, down to the one that cannot be embedded."""
    promises = _claim(batch)
    if not promises:
        return 0
    try:
        texts = [embedding_text(promise.capability) for promise in promises]
        vectors = embed_documents(embedder, texts)
    except Exception as problem:
        if isinstance(problem, EmbedderUnavailable) and not isinstance(problem, TextRefused):
            _give_back(promises)
            raise
        return _embed_the_others(promises, embedder, problem)
    return _store(promises, vectors)


def _embed_the_others(promises: Sequence[Embedding], embedder: Embedder, problem: Exception) -> int:
    """Halve the batch, so that the text that cannot be embedded costs only itself."""
    log.warning("embedding failed", texts=len(promises), exc_info=problem)
    if len(promises) == 1:
        _note_failure(promises[0], str(problem) or type(problem).__name__)
        return 0
    _give_back(promises)
    keys = [promise.pk for promise in promises]
    return sum(_embed_batch(half, embedder) for half in chunks(keys, (len(keys) + 1) // 2))


def _claim(batch: Sequence[int]) -> list[Embedding]:
    """Count the attempt, committed before the work that may end the process, then read the texts.

    Text and hash are read by one statement: they belong together whatever is written meanwhile.
    """
    wanted = pending().filter(pk__in=batch)
    keys = _update_unlocked(wanted, attempts=F("attempts") + 1, sent_at=Now())
    claimed = Embedding.objects.filter(pk__in=keys).select_related("capability__integration")
    return list(claimed.order_by("capability_id"))


def _give_back(promises: Sequence[Embedding]) -> None:
    """Take the attempt back: it says nothing about these texts."""
    begun = Embedding.objects.filter(pk__in=[promise.pk for promise in promises], attempts__gt=0)
    _update_unlocked(begun, attempts=F("attempts") - 1)


def _update_unlocked(promises: QuerySet[Embedding], **changes: Any) -> list[int]:
    """Change those that nobody writes at this moment: whoever does will send or has done them."""
    with transaction.atomic():
        rows = promises.select_for_update(skip_locked=True, of=("self",))
        keys = list(rows.values_list("pk", flat=True))
        Embedding.objects.filter(pk__in=keys).update(**changes)
    return keys


def _note_failure(promise: Embedding, reason: str) -> None:
    Embedding.objects.filter(pk=promise.pk, text_hash=promise.text_hash).update(
        failure=reason[:300]
    )


def _store(promises: Sequence[Embedding], vectors: Vectors) -> int:
    """Write each vector, unless the text has changed since it was read."""
    rows = [
        (_written(vector), promise.text_hash, promise.pk, promise.text_hash)
        for promise, vector in zip(promises, vectors, strict=True)
    ]
    with connection.cursor() as cursor:
        cursor.executemany(_STORE, rows)
        return int(cursor.rowcount)


_STORE = """
UPDATE catalog_embedding SET vector = %s::vector, vector_hash = %s, attempts = 0, failure = ''
WHERE id = %s AND text_hash = %s
"""


def claim_overdue(limit: int) -> list[int]:
    """Capabilities that have waited too long by the database's clock; marked as sent now."""
    too_long_ago = Now() - timedelta(seconds=settings.PEGBOARD_SWEEP_AFTER_SECONDS)
    overdue = pending().filter(sent_at__lt=too_long_ago, model__in=kept_models())
    keys = _update_unlocked(overdue.order_by("sent_at", "pk")[:limit], sent_at=Now())
    claimed = Embedding.objects.filter(pk__in=keys)
    return list(
        claimed.order_by("capability_id").values_list("capability_id", flat=True).distinct()
    )


def note_deaths() -> int:
    """Say why of those whose last attempt ended the process before it could."""
    return failed().filter(failure="").update(failure=DIED)


def chunks(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """The sequence in pieces of at most `size`."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def _written(vector: Vectors) -> str:
    return "[" + ",".join(map(repr, vector.tolist())) + "]"
