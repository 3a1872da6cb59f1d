"""What the workers do for the catalogue. Tasks take ids, and may be lost, doubled or late."""

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
SWEPT_AT_ONCE = 10_000


@shared_task(name="catalog.embed_capabilities")  # type: ignore[untyped-decorator]
def embed_capabilities(ids: list[int]) -> None:
    """Embed what is pending of these capabilities."""
    embedding_jobs.embed_capabilities(ids)


@shared_task(name="catalog.sweep_embeddings")  # type: ignore[untyped-decorator]
def sweep_embeddings() -> None:
    """Send again whatever has waited too long, and let a newly built model answer."""
    model = register_configured_model()
    request_missing_vectors()
    embedding_jobs.record_crashes()
    send_embeddings(embedding_jobs.claim_overdue(SWEPT_AT_ONCE))
    if model:
        switch_when_complete(model)


def send_embeddings(ids: Sequence[int]) -> None:
    """Ask the workers to embed. Where the queue is away, the sweep asks later."""
    # Asked first, since Celery itself waits for seconds for a queue that does not answer.
    if not ids or not attempt(lambda redis: bool(redis.ping()), default=False):
        return
    try:
        for some in embedding_jobs.chunks(ids, IDS_PER_TASK):
            embed_capabilities.delay(list(some))
    except (KombuError, OSError):
        log.warning("queue is away", capabilities=len(ids), exc_info=True)
