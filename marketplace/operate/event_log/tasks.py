"""Celery task of the event log, in the outgoing worker."""

from celery import shared_task

from acl.platform.jobs.task_names import SEND_EVENTS
from marketplace.operate.event_log.sender import send_events


@shared_task(name=SEND_EVENTS)  # type: ignore[untyped-decorator]
def send_new_events() -> None:
    """Send audit entries and ended calls that were not sent yet."""
    send_events()
