"""Celery tasks of sources. They run in the outgoing worker; the web sends them by name."""

from celery import shared_task

from acl.platform.jobs import send_again
from acl.platform.task_names import REFRESH_SOURCE, SWEEP_SOURCES
from marketplace.models import Source
from marketplace.sources.refresh import due_sources, refresh_source


@shared_task(name=REFRESH_SOURCE)  # type: ignore[untyped-decorator]
def refresh_one_source(pk: int) -> None:
    """Read a queued source."""
    refresh_source(pk)


@shared_task(name=SWEEP_SOURCES)  # type: ignore[untyped-decorator]
def sweep_sources() -> None:
    """Send tasks for sources that are due, and for those whose task was lost."""
    send_again(REFRESH_SOURCE, due_sources(), state=Source.State.QUEUED)
