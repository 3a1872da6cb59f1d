"""Celery tasks of the catalogue. They take ids and may be lost, repeated or delayed."""

from collections.abc import Sequence

from celery import shared_task

from acl.platform.jobs.task_names import (
    EMBED_CAPABILITIES,
    EXPIRE_CAPABILITIES,
    SWEEP_EMBEDDINGS,
)
from acl.platform.jobs.task_queue import send_each, send_now
from catalog.embedding import embedding_jobs, vector_batches
from catalog.embedding.stored_models import (
    register_configured_model,
    request_missing_vectors,
    switch_when_complete,
)
from catalog.lifecycle.runtime_state import retire_expired

# What is sent together stands in the queue once. Of it a turn embeds a few, and goes back to the
# end with the rest: one server's thousand tools hold up no other installation.
IDS_PER_TASK = 2_000
IDS_PER_TURN = 20
SWEEP_BATCH = 10_000


@shared_task(name=EMBED_CAPABILITIES)  # type: ignore[untyped-decorator]
def embed_capabilities(ids: list[int]) -> None:
    """Embed the pending rows of the first of these capabilities, and queue for the others."""
    embedding_jobs.embed_capabilities(ids[:IDS_PER_TURN])
    if rest := ids[IDS_PER_TURN:]:
        send_now(EMBED_CAPABILITIES, rest)


@shared_task(name=SWEEP_EMBEDDINGS)  # type: ignore[untyped-decorator]
def sweep_embeddings() -> None:
    """Resend overdue embeddings, and activate a model whose vectors are complete."""
    model = register_configured_model()
    request_missing_vectors()
    embedding_jobs.record_crashes()
    send_embeddings(embedding_jobs.claim_overdue_capabilities(SWEEP_BATCH))
    if model:
        switch_when_complete(model)


@shared_task(name=EXPIRE_CAPABILITIES)  # type: ignore[untyped-decorator]
def expire_capabilities() -> None:
    """Retire runtime capabilities whose time is over."""
    retire_expired()


def send_embeddings(ids: Sequence[int]) -> None:
    """Enqueue embeddings. If the queue is down, the sweep does it later."""
    some_at_a_time = vector_batches.chunks(ids, IDS_PER_TASK)
    send_each(EMBED_CAPABILITIES, ([list(some)] for some in some_at_a_time))
