"""The task that notes the head of the audit log, in the process that goes out."""

from celery import shared_task

from marketplace.operate.audit_anchor.anchor_sender import note_head


@shared_task(name="servers.note_audit_head")  # type: ignore[untyped-decorator]
def note_audit_head() -> None:
    """Note the head of the audit log outside of the database, if it has moved."""
    note_head()
