"""Installing and reading sources, in the process that goes out. The web sends these by name."""

from celery import shared_task

from marketplace.installs.disk_cleanup import tidy
from marketplace.installs.install_worker import install, overdue
from marketplace.operate.audit_anchor.anchor_sender import note_head
from marketplace.sources.source_refresh import refresh_source, sources_to_read

_LOOK_AGAIN_SECONDS = 1


@shared_task(name="servers.install")  # type: ignore[untyped-decorator]
def install_server(pk: int) -> None:
    """Take an installation further; while it waits for its vectors, look again soon."""
    if install(pk):
        install_server.apply_async([pk], countdown=_LOOK_AGAIN_SECONDS)


@shared_task(name="servers.sweep_installations")  # type: ignore[untyped-decorator]
def sweep_installations() -> None:
    """Send again whatever has waited too long, and remove what is left over."""
    for pk in overdue():
        install_server.delay(pk)
    tidy()


@shared_task(name="servers.tidy")  # type: ignore[untyped-decorator]
def tidy_up() -> None:
    """Remove what is left of what was removed, disabled or cancelled."""
    tidy()


@shared_task(name="servers.refresh_source")  # type: ignore[untyped-decorator]
def refresh_one_source(pk: int) -> None:
    """Read a source, unless another task does."""
    refresh_source(pk)


@shared_task(name="servers.note_audit_head")  # type: ignore[untyped-decorator]
def note_audit_head() -> None:
    """Note the head of the audit log outside of the database, if it has moved."""
    note_head()


@shared_task(name="servers.sweep_sources")  # type: ignore[untyped-decorator]
def sweep_sources() -> None:
    """Send sources whose hour has come, and whose task was lost."""
    for pk in sources_to_read():
        refresh_one_source.delay(pk)
