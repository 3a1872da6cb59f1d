"""The audit log: who changed what. Entries are added, never changed."""

from typing import Any

from django.contrib.auth.models import User

from acl.models import AuditEntry
from acl.origins import current_origin


def record(
    *, by: User | None, action: str, target: str, details: dict[str, Any] | None = None
) -> AuditEntry:
    """Write one entry, in the transaction of the change; `by` is None for a command.

    Its number and its digest come at commit, from the database: whoever records early in a long
    transaction keeps nobody waiting.
    """
    origin = current_origin()
    return AuditEntry.objects.create(
        by=by,
        by_name=by.get_username() if by else "",
        action=action,
        target=target[:200],
        details=details or {},
        request_id=origin.request_id,
        key_prefix=origin.key_prefix,
        address=origin.address,
    )
