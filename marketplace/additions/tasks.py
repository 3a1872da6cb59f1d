"""Celery tasks of additions. They run in the outgoing worker; the web sends them by name."""

from celery import shared_task

from acl.platform.jobs import send_again
from acl.platform.task_names import LOOK_AT_ADDITION, SWEEP_ADDITIONS
from marketplace.additions.worker import forget_old_additions, look_at, overdue_additions


@shared_task(name=LOOK_AT_ADDITION)  # type: ignore[untyped-decorator]
def look_at_addition(pk: int) -> None:
    """Look at what was pasted."""
    look_at(pk)


@shared_task(name=SWEEP_ADDITIONS)  # type: ignore[untyped-decorator]
def sweep_additions() -> None:
    """Send tasks for additions whose task was lost, and delete what nobody needs any more."""
    send_again(LOOK_AT_ADDITION, overdue_additions())
    forget_old_additions()
