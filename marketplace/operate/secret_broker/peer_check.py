"""The process at the other end of a Unix socket, as the kernel names it."""

import os
import socket
import struct

import psutil

from marketplace.operate.embedded.key_cover import WRAPPER

_CREDENTIALS = struct.Struct("3i")


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
    found = channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(found)
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
