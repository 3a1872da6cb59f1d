"""State of the audit anchor, for health checks and metrics."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from acl.models import AuditEntry, AuditHead
from marketplace.models import AuditAnchor

_LATE = 3  # intervals


def anchor_problem() -> str:
    """Return the anchors' problem as a sentence, or "" if there is none or no anchor is set."""
    if not settings.PEGBOARD_AUDIT_ANCHOR:
        return ""
    row = AuditAnchor.objects.filter(pk=1).first()
    if row and row.failure:
        return f"The audit anchor could not be recorded: {row.failure}"
    anchored = row.number if row else 0
    late = timezone.now() - timedelta(seconds=_LATE * settings.PEGBOARD_AUDIT_ANCHOR_SECONDS)
    if AuditEntry.objects.filter(number=anchored + 1, at__lt=late).exists():
        return f"Audit entries since number {anchored + 1} have no anchor yet."
    return ""


def count_unanchored_entries() -> int:
    """Return the number of entries that are newer than the recorded anchor."""
    row, head = AuditAnchor.objects.filter(pk=1).first(), AuditHead.objects.first()
    return (head.number if head else 0) - (row.number if row else 0)
