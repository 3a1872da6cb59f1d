"""Celery tasks of the catalogue. They take ids and may be lost, repeated or delayed."""

from collections.abc import Sequence

import structlog
from celery import shared_task
from kombu.exceptions import KombuError

from acl.platform.redis_circuit import attempt
from catalog.embedding import embedding_jobs
from catalog.embedding.model_switch import (
    register_configured_model,
    request_missing_vectors,
    switch_when_complete,
)

log = structlog.get_logger(__name__)
IDS_PER_TASK = 100
SWEEP_BATCH = 10_000


@shared_task(name="catalog.embed_capabilities")  # type: ignore[untyped-decorator]
def embed_capabilities(ids: list[int]) -> None:
    """Embed the pending rows of these capabilities."""
    embedding_jobs.embed_capabilities(ids)


@shared_task(name="catalog.sweep_embeddings")  # type: ignore[untyped-decorator]
def sweep_embeddings() -> None:
    """Resend overdue embeddings, and activate a model whose vectors are complete."""
    model = register_configured_model()
    request_missing_vectors()
    embedding_jobs.record_crashes()
    send_embeddings(embedding_jobs.claim_overdue(SWEEP_BATCH))
    if model:
        switch_when_complete(model)


def send_embeddings(ids: Sequence[int]) -> None:
    """Enqueue embeddings. If the queue is down, the sweep does it later."""
    # Ping first: Celery itself would block for seconds.
    if not ids or not attempt(lambda redis: bool(redis.ping()), default=False):
        return
    try:
        for some in embedding_jobs.chunks(ids, IDS_PER_TASK):
            embed_capabilities.delay(list(some))
    except (KombuError, OSError):
        log.warning("queue unavailable", capabilities=len(ids), exc_info=True)
