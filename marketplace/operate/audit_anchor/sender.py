"""Recording the head of the audit log outside the database, out of reach of the database's owner.

The outgoing worker does this every PEGBOARD_AUDIT_ANCHOR_SECONDS if there are new entries: to a
file, to syslog, or to a URL. A failed attempt is repeated at the next interval.
"""

import os
import socket
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from acl.audit.log_verification import Anchor
from acl.models import AuditHead
from catalog.servers.net.address_check import OutgoingError
from catalog.servers.net.guarded_requests import send_json
from marketplace.models import AuditAnchor

_REPEAT_AFTER = timedelta(days=1)  # even if nothing is new, so that a missing anchor is noticed
SYSLOG = "syslog"
_DEVICE = "/dev/log"
_PRIORITY = 13 * 8 + 5  # facility "log audit", severity "notice" (RFC 5424, 6.2.1)


class AnchorFailedError(Exception):
    """The anchor was not accepted. The message contains no address."""


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


def record_anchor(anchor: Anchor, *, place: str, at: str) -> None:
    """Record the anchor at `place`. Raises unless the target has confirmed it."""
    if place == SYSLOG:
        _to_syslog(anchor.line(at))
    elif place.startswith("/"):
        _to_file(place, anchor.line(at))
    else:
        values = anchor.values(at)
        status = send_json(place, values)
        if not 200 <= status < 300:
            raise AnchorFailedError(f"the address answered with status {status}")


def _to_file(path: str, line: str) -> None:
    """Append to a file that only its owner may read, and fsync."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags, 0o600)
        try:
            os.write(descriptor, f"{line}\n".encode())  # one short line, so the write is atomic
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as problem:
        raise AnchorFailedError(f"the file cannot be written ({problem.strerror})") from problem


def _to_syslog(line: str) -> None:
    # Written directly, because the standard library's syslog handler hides errors.
    message = f"<{_PRIORITY}>pegboard-audit: {line}".encode()
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
            log.settimeout(5)
            log.connect(_DEVICE)
            log.send(message)
    except OSError as problem:
        raise AnchorFailedError(
            f"syslog did not accept it ({problem.strerror or 'it does not answer'})"
        ) from problem
