"""Installing, in the process that holds the connections. The web sends these by name."""

from celery import shared_task

from marketplace.installing import install, overdue

_LOOK_AGAIN_SECONDS = 1


@shared_task(name="servers.install")  # type: ignore[untyped-decorator]
def install_server(pk: int) -> None:
    """Take an installation further; while it waits for its vectors, look again soon."""
    if install(pk):
        install_server.apply_async([pk], countdown=_LOOK_AGAIN_SECONDS)


@shared_task(name="servers.sweep_installations")  # type: ignore[untyped-decorator]
def sweep_installations() -> None:
    """Send again whatever has waited too long."""
    for pk in overdue():
        install_server.delay(pk)
