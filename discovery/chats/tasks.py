"""Celery tasks of the bench, in the outgoing worker."""

from celery import shared_task

from acl.platform.jobs.task_names import ASK_MODEL, SWEEP_CHATS
from discovery.chats._sweeper import sweep
from discovery.chats.model_sender import send_request


@shared_task(name=ASK_MODEL)  # type: ignore[untyped-decorator]
def ask_model(request_id: int) -> None:
    """Send a request to its model once."""
    send_request(request_id)


@shared_task(name=SWEEP_CHATS)  # type: ignore[untyped-decorator]
def sweep_chats() -> None:
    """Send lost requests again, and delete old chats."""
    sweep()
