"""Tasks of reading sources, in the process that goes out; the web sends them by name."""

from celery import shared_task

from marketplace.sources.source_refresh import refresh_source, sources_to_read


@shared_task(name="servers.refresh_source")  # type: ignore[untyped-decorator]
def refresh_one_source(pk: int) -> None:
    """Read a source, unless another task does."""
    refresh_source(pk)


@shared_task(name="servers.sweep_sources")  # type: ignore[untyped-decorator]
def sweep_sources() -> None:
    """Send sources whose hour has come, and whose task was lost."""
    for pk in sources_to_read():
        refresh_one_source.delay(pk)
