"""Celery tasks of running Pegboard, in the outgoing worker."""

from celery import shared_task

from acl.platform.task_names import APPLY_TERMS, NOTE_AUDIT_HEAD, SEND_EVENTS
from marketplace.operate.audit_anchor.sender import record_head
from marketplace.operate.event_log import send_events
from marketplace.operate.retention import apply_terms


@shared_task(name=NOTE_AUDIT_HEAD)  # type: ignore[untyped-decorator]
def note_audit_head() -> None:
    """Record the head of the audit log outside the database, if it has moved."""
    record_head()


@shared_task(name=SEND_EVENTS)  # type: ignore[untyped-decorator]
def send_new_events() -> None:
    """Send audit entries and ended calls that were not sent yet."""
    send_events()


@shared_task(name=APPLY_TERMS)  # type: ignore[untyped-decorator]
def apply_all_terms() -> None:
    """Delete what is older than its term, for a while."""
    apply_terms()
