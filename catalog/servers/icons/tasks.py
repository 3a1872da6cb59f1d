"""Celery tasks of icons. They run in the outgoing worker; others send them by name."""

from celery import shared_task

from acl.platform.task_names import READ_ICON, SWEEP_ICONS, send_each
from catalog.servers.icons import _reader


@shared_task(name=READ_ICON)  # type: ignore[untyped-decorator]
def read_icon(pk: int) -> None:
    """Read an icon that is due."""
    _reader.read_icon(pk)


@shared_task(name=SWEEP_ICONS)  # type: ignore[untyped-decorator]
def sweep_icons() -> None:
    """Send tasks for icons that are due, and delete what nobody needs any more."""
    send_each(READ_ICON, ([key] for key in _reader.due_icons()))
    _reader.forget_unused_icons()
