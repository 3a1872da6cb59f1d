"""Celery tasks of installing. They run in the outgoing worker; the web sends them by name."""

from celery import shared_task

from marketplace.installs.disk_cleanup import clean_up
from marketplace.installs.install_worker import find_overdue, install

_RETRY_SECONDS = 1


@shared_task(name="servers.install")  # type: ignore[untyped-decorator]
def install_server(pk: int) -> None:
    """Advance an installation; while it waits, run again after a second."""
    if install(pk):
        install_server.apply_async([pk], countdown=_RETRY_SECONDS)


@shared_task(name="servers.sweep_installations")  # type: ignore[untyped-decorator]
def sweep_installations() -> None:
    """Resend overdue installations, and clean up."""
    for pk in find_overdue():
        install_server.delay(pk)
    clean_up()


@shared_task(name="servers.tidy")  # type: ignore[untyped-decorator]
def clean_up_after_changes() -> None:
    """Clean up after something was removed, disabled or cancelled."""
    clean_up()
