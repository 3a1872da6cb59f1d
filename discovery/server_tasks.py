"""Calls, in the process that keeps the connections. The web sends these by name."""

from uuid import UUID

from celery import shared_task

from discovery.calling import start_call
from discovery.moving import send_call
from discovery.sweeping import sweep


@shared_task(name="servers.call")  # type: ignore[untyped-decorator]
def call(pk: str) -> None:
    """Send one call to its server."""
    start_call(UUID(pk))


@shared_task(name="servers.sweep_calls")  # type: ignore[untyped-decorator]
def sweep_calls() -> None:
    """Look after calls that nobody moves."""
    for pk in sweep():
        send_call(pk)
