"""How far the audit log has been noted outside of the database, for those who watch Pegboard."""

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
        return f"The head of the audit log could not be noted elsewhere: {row.failure}"
    noted = row.number if row else 0
    late = timezone.now() - timedelta(seconds=_LATE * settings.PEGBOARD_AUDIT_ANCHOR_SECONDS)
    if AuditEntry.objects.filter(number=noted + 1, at__lt=late).exists():
        return f"The audit log since entry {noted + 1} has not been noted elsewhere."
    return ""


def entries_not_noted() -> int:
    """How many entries are protected by nothing outside of the database."""
    row, head = AuditAnchor.objects.filter(pk=1).first(), AuditHead.objects.first()
    return (head.number if head else 0) - (row.number if row else 0)
