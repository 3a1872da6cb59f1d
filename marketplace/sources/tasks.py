"""Celery tasks of sources. They run in the outgoing worker; the web sends them by name."""

from celery import shared_task

from marketplace.sources.source_refresh import queue_due_sources, refresh_source


@shared_task(name="servers.refresh_source")  # type: ignore[untyped-decorator]
def refresh_one_source(pk: int) -> None:
    """Read a queued source."""
    refresh_source(pk)


@shared_task(name="servers.sweep_sources")  # type: ignore[untyped-decorator]
def sweep_sources() -> None:
    """Send tasks for sources that are due, and for those whose task was lost."""
    for pk in queue_due_sources():
        refresh_one_source.delay(pk)
