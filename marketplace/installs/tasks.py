"""Celery tasks of installing. They run in the outgoing worker; the web sends them by name."""

from celery import shared_task

from acl.platform.jobs.rows import send_again
from acl.platform.jobs.task_names import CLEAN_UP_INSTALLATIONS, INSTALL, SWEEP_INSTALLATIONS
from marketplace.installs.disk_cleanup import clean_up
from marketplace.installs.package_step import compile_package
from marketplace.installs.worker import install, overdue_installations

# The first wait for vectors or a free slot; each further one is half as long again, up to the last.
_RETRY_SECONDS, _MOST_RETRY_SECONDS = 0.5, 10.0


@shared_task(name=INSTALL)  # type: ignore[untyped-decorator]
def install_server(pk: int, waited: float = 0.0) -> None:
    """Advance an installation; while it waits, run again soon. Then compile its package."""
    if install(pk):
        wait = min(_MOST_RETRY_SECONDS, max(_RETRY_SECONDS, 1.5 * waited))
        install_server.apply_async([pk, wait], countdown=wait)
    else:
        compile_package(pk)


@shared_task(name=SWEEP_INSTALLATIONS)  # type: ignore[untyped-decorator]
def sweep_installations() -> None:
    """Resend overdue installations, and clean up."""
    send_again(INSTALL, overdue_installations())
    clean_up()


@shared_task(name=CLEAN_UP_INSTALLATIONS)  # type: ignore[untyped-decorator]
def clean_up_after_changes() -> None:
    """Clean up after something was removed, disabled or cancelled."""
    clean_up()
