"""Graceful shutdown of the web server without reset connections.

Closing a listening socket resets connections that the kernel has accepted but nobody has read yet,
and a proxy may not retry those. So a kernel filter drops new SYN packets first: clients retransmit
after a second, and are then refused, or accepted by the next server. Connections that are in the
queue by then are still answered.
"""

import ctypes
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from types import FrameType
from typing import Any

from marketplace.operate.embedded._reception import ReceivingWorker

# From <asm-generic/socket.h>; the `socket` module lacks it.
_SO_ATTACH_FILTER = 26
# A classic BPF program, which sees packets from the TCP header on: byte 13 has the flags (RFC 9293,
# 3.1). Each line is a struct sock_filter: code, jump if true, jump if false, operand.
_DROP_SYN = (
    (0x30, 0, 0, 13),  # load the flags
    (0x54, 0, 0, 0x12),  # keep SYN and ACK
    (0x15, 0, 1, 0x02),  # SYN alone opens a connection
    (0x06, 0, 0, 0),  # drop it
    (0x06, 0, 0, 0xFFFFFFFF),  # accept all others
)
# Time for handshakes that have begun to complete.
_HANDSHAKE_SECONDS = 0.1


class DrainingWorker(ReceivingWorker):
    """Worker that accepts the connections still queued at shutdown.

    It then has the graceful timeout to answer them.
    """

    def set_accept_enabled(self, enabled: bool) -> None:
        """Called with False when shutdown begins, and when there are too many connections."""
        if not enabled and not self.alive:
            super().set_accept_enabled(True)
            self._accept_queued()
        super().set_accept_enabled(enabled)

    def _accept_queued(self) -> None:
        until = time.monotonic() + _HANDSHAKE_SECONDS
        while (remaining := until - time.monotonic()) > 0 or self._has_queued():
            self.wait_for_and_dispatch_events(timeout=max(0.0, remaining))

    def _has_queued(self) -> bool:
        return bool(select.select(self.sockets, [], [], 0)[0])


def drop_new_connections_on_shutdown(arbiter: Any) -> None:
    """Make gunicorn's master drop new connections on SIGTERM, before it tells its workers.

    A reload also stops workers, but new ones continue with the same sockets.
    """
    previous = signal.getsignal(signal.SIGTERM)

    def handle(number: int, frame: FrameType | None) -> None:
        # Workers inherit this handler until they set their own.
        if os.getpid() == arbiter.pid and _owns_sockets(arbiter):
            drop_new_connections(listener.sock for listener in arbiter.LISTENERS)
        if callable(previous):
            previous(number, frame)

    signal.signal(signal.SIGTERM, handle)


def _owns_sockets(arbiter: Any) -> bool:
    """Return True if nobody else continues with the sockets.

    Others may be systemd, which made them, or another gunicorn that takes over (USR2). A filter
    stays with the socket, so it would silence them too.
    """
    takes_over = arbiter.reexec_pid or arbiter.master_pid
    is_inherited = arbiter.systemd or any(
        isinstance(address, int) for address in arbiter.cfg.address
    )
    return not takes_over and not is_inherited


def drop_new_connections(listeners: Iterable[socket.socket]) -> None:
    """Make the kernel drop new connections to these sockets, in all processes. Linux only."""
    program = b"".join(struct.pack("HBBI", *line) for line in _DROP_SYN)
    lines = ctypes.create_string_buffer(program)
    option = struct.pack("HL", len(_DROP_SYN), ctypes.addressof(lines))
    for listener in listeners:
        if sys.platform == "linux" and listener.family in (socket.AF_INET, socket.AF_INET6):
            with suppress(OSError):
                listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, option)
