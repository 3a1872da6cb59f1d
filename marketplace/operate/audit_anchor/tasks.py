"""Celery task of the audit anchor, in the outgoing worker."""

from celery import shared_task

from acl.platform.jobs.task_names import NOTE_AUDIT_HEAD
from marketplace.operate.audit_anchor.sender import record_head


@shared_task(name=NOTE_AUDIT_HEAD)  # type: ignore[untyped-decorator]
def note_audit_head() -> None:
    """Record the head of the audit log outside the database, if it has moved."""
    record_head()
