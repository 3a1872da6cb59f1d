"""Recording the head of the audit log outside the database, out of reach of the database's owner.

The outgoing worker does this every PEGBOARD_AUDIT_ANCHOR_SECONDS if there are new entries. A
failed attempt is repeated at the next interval.
"""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from acl.audit.audit_anchors import Anchor
from acl.models import AuditHead
from catalog.servers.net.outgoing_errors import OutgoingError
from marketplace.models import AuditAnchor
from marketplace.operate.audit_anchor.anchor_targets import AnchorFailedError, record_anchor

_REPEAT_AFTER = timedelta(days=1)  # even if nothing is new, so that a missing anchor is noticed


def record_head() -> None:
    """Record the head if it has moved, or was not recorded for a day."""
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
            record_anchor(Anchor(head.number, head.digest), place=place, at=now.isoformat())
        except (AnchorFailedError, OutgoingError) as problem:
            row.failure = str(problem)[:200]
        else:
            row.number, row.noted_at, row.failure = head.number, now, ""
        row.save()


def _is_due(row: AuditAnchor, head: AuditHead) -> bool:
    # A head behind the recorded one is recorded as well: the log was truncated or restored.
    moved = head.number != row.number
    return bool(
        moved or row.failure or not row.noted_at or row.noted_at < timezone.now() - _REPEAT_AFTER
    )
