"""Noting the head of the audit log outside of the database, where its owner cannot change it.

The process that goes out does it, every PEGBOARD_AUDIT_ANCHOR_SECONDS if there are new entries. One
that could not be noted is noted the next time.
"""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from acl.audit.audit_anchors import Anchor
from acl.models import AuditHead
from catalog.servers.net.outgoing_errors import OutgoingError
from marketplace.models import AuditAnchor
from marketplace.operate.audit_anchor.anchor_targets import NotNotedError, note

_AGAIN = timedelta(days=1)  # although nothing is new: somebody notices when it stays away


def note_head() -> None:
    """Note the head if it has moved, or was not noted for a day."""
    place = settings.PEGBOARD_AUDIT_ANCHOR
    if not place:
        return
    AuditAnchor.objects.get_or_create(pk=1)
    with transaction.atomic():
        row = AuditAnchor.objects.select_for_update(skip_locked=True).filter(pk=1).first()
        head = AuditHead.objects.first()
        if row is None or head is None or not _is_due(row, head):
            return
        now = timezone.now()
        try:
            note(Anchor(head.number, head.digest), place=place, at=now.isoformat())
        except (NotNotedError, OutgoingError) as problem:
            row.failure = str(problem)[:200]
        else:
            row.number, row.noted_at, row.failure = head.number, now, ""
        row.save()


def _is_due(row: AuditAnchor, head: AuditHead) -> bool:
    # A head that is behind what was noted is noted, too: that the log was cut off, or restored.
    moved = head.number != row.number
    return bool(moved or row.failure or not row.noted_at or row.noted_at < timezone.now() - _AGAIN)
