"""Tasks of installing, in the process that goes out; the web sends them by name."""

from celery import shared_task

from marketplace.installs.disk_cleanup import tidy
from marketplace.installs.install_worker import install, overdue

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
