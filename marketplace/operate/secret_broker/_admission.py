"""Admission to the broker: which processes may ask, and for how many connections a minute."""

import os
import socket
import struct
import time
from collections.abc import Callable
from threading import Lock

import psutil

from marketplace.operate.embedded.key_cover import WRAPPER

_CREDENTIALS = struct.Struct("3i")


_SECONDS = 60.0


def is_trusted(channel: socket.socket, *, supervisor: int | None) -> bool:
    """Return True for our own user and, under a supervisor, for a process that it started.

    Programs of servers are started by such a process, not by the supervisor. In containers there is
    no supervisor: who reaches the socket is decided by the volume that it is on.
    """
    pid, uid = _peer(channel)
    if uid != os.geteuid():
        return False
    return supervisor is None or _is_child(pid, supervisor)


def _peer(channel: socket.socket) -> tuple[int, int]:
    if not hasattr(socket, "SO_PEERCRED"):  # macOS; there the folder of the socket decides
        return 0, os.geteuid()
    credentials = channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(credentials)
    return pid, uid


def _is_child(pid: int, supervisor: int) -> bool:
    """Return True if the supervisor started the process, by bubblewrap or without."""
    try:
        parent = psutil.Process(pid).parent()
        while parent is not None and parent.name() == WRAPPER:
            parent = parent.parent()
    except (psutil.Error, ValueError):
        return False
    return parent is not None and parent.pid == supervisor


class RequestWindow:
    """Bound on the number of different connections that something happens for within a minute."""

    def __init__(self, most: int, *, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._now = most, now
        self._since: dict[str, float] = {}
        self._lock = Lock()

    def admit(self, name: str) -> tuple[bool, bool]:
        """Return whether the name is within the bound, and whether it is new in this minute."""
        with self._lock:
            now = self._now()
            self._since = {key: at for key, at in self._since.items() if at > now - _SECONDS}
            if name in self._since:
                return True, False
            if len(self._since) >= self._most:
                return False, False
            self._since[name] = now
            return True, True
