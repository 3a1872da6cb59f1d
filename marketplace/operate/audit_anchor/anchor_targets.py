"""Where the head of the audit log can be noted: a file, the system's log, or an address."""

import os
import socket
from typing import Any

from acl.audit.audit_anchors import Anchor
from catalog.servers.net.json_delivery import send_json

SYSLOG = "syslog"
_DEVICE = "/dev/log"
_PRIORITY = 13 * 8 + 5  # facility "log audit", severity "notice" (RFC 5424, 6.2.1)


class NotNotedError(Exception):
    """The line was not taken; the words tell no address."""


def note(anchor: Anchor, *, place: str, at: str) -> None:
    """Note the anchor at `place`; raises where it is not certain that it was taken."""
    if place == SYSLOG:
        _to_syslog(anchor.line(at))
    elif place.startswith("/"):
        _to_file(place, anchor.line(at))
    else:
        _to_address(place, anchor.values(at))


def _to_file(path: str, line: str) -> None:
    """Appended, on disk when this returns, and readable by its owner alone."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags, 0o600)
        try:
            os.write(descriptor, f"{line}\n".encode())  # short enough to be written at once
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as problem:
        raise NotNotedError(f"the file cannot be written ({problem.strerror})") from problem


def _to_syslog(line: str) -> None:
    # By hand, since the standard library's handlers keep to themselves what goes wrong.
    message = f"<{_PRIORITY}>pegboard-audit: {line}".encode()
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
            log.settimeout(5)
            log.connect(_DEVICE)
            log.send(message)
    except OSError as problem:
        raise NotNotedError(
            f"the system's log does not take it ({problem.strerror or 'it does not answer'})"
        ) from problem


def _to_address(url: str, values: dict[str, Any]) -> None:
    status = send_json(url, values)
    if not 200 <= status < 300:
        raise NotNotedError(f"the address answered with status {status}")
