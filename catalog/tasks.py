"""Celery tasks of the catalogue. They take ids and may be lost, repeated or delayed."""

from celery import shared_task

from acl.platform.task_names import (
    EMBED_CAPABILITIES,
    EXPIRE_CAPABILITIES,
    SWEEP_EMBEDDINGS,
    send_now,
)
from acl.rights.version import merge_changes
from catalog.capabilities.runtime_state import retire_expired
from catalog.embedding import jobs
from catalog.registration.embedding_models import (
    register_configured_model,
    request_missing_vectors,
    switch_when_complete,
)

# Of what stands in the queue a turn embeds a few, and goes back to the end with the rest: one
# server's thousand tools hold up no other installation.
IDS_PER_TURN = 20
SWEEP_BATCH = 10_000


@shared_task(name=EMBED_CAPABILITIES)  # type: ignore[untyped-decorator]
def embed_capabilities(ids: list[int]) -> None:
    """Embed the pending rows of the first of these capabilities, and queue for the others."""
    jobs.embed_capabilities(ids[:IDS_PER_TURN])
    if rest := ids[IDS_PER_TURN:]:
        send_now(EMBED_CAPABILITIES, rest)


@shared_task(name=SWEEP_EMBEDDINGS)  # type: ignore[untyped-decorator]
def sweep_embeddings() -> None:
    """Resend overdue embeddings, and activate a model whose vectors are complete."""
    model = register_configured_model()
    request_missing_vectors()
    jobs.record_crashes()
    jobs.send_embeddings(jobs.claim_overdue_capabilities(SWEEP_BATCH))
    if model:
        switch_when_complete(model)


@shared_task(name=EXPIRE_CAPABILITIES)  # type: ignore[untyped-decorator]
def expire_capabilities() -> None:
    """Retire runtime capabilities whose time is over, and merge counted changes of rights."""
    retire_expired()
    merge_changes()
