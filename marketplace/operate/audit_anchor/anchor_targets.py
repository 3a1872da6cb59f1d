"""Targets of the audit anchor: a file, syslog, or a URL."""

import os
import socket
from typing import Any

from acl.audit.audit_anchors import Anchor
from catalog.servers.net.json_delivery import send_json

SYSLOG = "syslog"
_DEVICE = "/dev/log"
_PRIORITY = 13 * 8 + 5  # facility "log audit", severity "notice" (RFC 5424, 6.2.1)


class AnchorFailedError(Exception):
    """The anchor was not accepted. The message contains no address."""


def record_anchor(anchor: Anchor, *, place: str, at: str) -> None:
    """Record the anchor at `place`. Raises unless the target has confirmed it."""
    if place == SYSLOG:
        _to_syslog(anchor.line(at))
    elif place.startswith("/"):
        _to_file(place, anchor.line(at))
    else:
        _to_url(place, anchor.values(at))


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


def _to_url(url: str, values: dict[str, Any]) -> None:
    status = send_json(url, values)
    if not 200 <= status < 300:
        raise AnchorFailedError(f"the address answered with status {status}")
