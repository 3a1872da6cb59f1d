"""Recording and refusing everything by which this process could contact something else.

Python calls an audit hook for each name lookup, connection and program, whichever library asked for
it (https://docs.python.org/3/library/audit_events.html). A hook cannot be removed, so there is one,
which does nothing while nobody records. The first recording adds it: it is called for a great deal.
"""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

_NETWORK = {"socket.getaddrinfo", "socket.gethostbyname", "socket.connect", "socket.sendto"}
_PROGRAMS = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork"}


@dataclass
class Doors:
    """Contacted hosts and started programs, by the name of the cause."""

    seen: dict[str, set[str]] = field(default_factory=dict)
    who: str = "nobody"

    @contextmanager
    def asked_by(self, who: str) -> Iterator[None]:
        """Record under this name."""
        before, self.who = self.who, who
        yield
        self.who = before

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Record and refuse the event, unless it is about our own Redis."""
        target = _target(event, arguments)
        if target:
            self.seen.setdefault(self.who, set()).add(target)
            raise ConnectionRefusedError("There is nothing outside of a test.")


_open: list[Doors] = []


@contextmanager
def recorded() -> Iterator[Doors]:
    """Record and refuse whatever leaves this process."""
    _add_hook()
    _open.append(doors := Doors())
    yield doors
    _open.remove(doors)


@cache
def _add_hook() -> None:
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _open and (event in _NETWORK or event in _PROGRAMS):
        _open[-1].note(event, arguments)


def _target(event: str, arguments: tuple[Any, ...]) -> str:
    """Return the host or program; "" for our own."""
    if event in _PROGRAMS:
        return f"program {arguments[:2]}"
    if event in ("socket.connect", "socket.sendto"):
        asked, address = arguments[0], arguments[1]
        if asked.family == socket.AF_UNIX:
            return ""
        host, port = _text(address[0]), address[1]
    else:
        host, port = _text(arguments[0]), arguments[1] if len(arguments) > 1 else None
    redis = urlsplit(settings.REDIS_URL)
    own = host == redis.hostname and port in (None, redis.port, str(redis.port))
    return "" if own else host


def _text(host: Any) -> str:
    return host.decode() if isinstance(host, bytes) else str(host)
