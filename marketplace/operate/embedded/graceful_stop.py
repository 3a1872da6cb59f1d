"""How the web ends: nobody new is let in, and everybody who is in gets an answer.

A listening socket that is closed resets the connections in it that the system has accepted and
nobody has read, and a proxy may not repeat what was reset. So the system is told first to ignore
attempts to connect: who tries does so again a second later, and is refused or finds who listens
then. Whoever is in the queue by that time is still answered.
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

from marketplace.operate.embedded.reception import ReceivingWorker

# From <asm-generic/socket.h>; Python does not name it.
_SO_ATTACH_FILTER = 26
# A classic BPF program, which sees a packet from its TCP header on: RFC 9293, 3.1, has the flags
# in byte 13. Each line is a struct sock_filter: code, jump if true, jump if false, operand.
_IGNORE_ATTEMPTS = (
    (0x30, 0, 0, 13),  # load the flags
    (0x54, 0, 0, 0x12),  # of which SYN and ACK
    (0x15, 0, 1, 0x02),  # only SYN is an attempt
    (0x06, 0, 0, 0),  # drop it
    (0x06, 0, 0, 0xFFFFFFFF),  # let everything else pass
)
# Who has been let in before may need this long to end the handshake.
_HANDSHAKE_SECONDS = 0.1


class DrainingWorker(ReceivingWorker):
    """The worker, which at its end takes whoever is in the queue with it, and then
    has the graceful time to answer them."""

    def set_accept_enabled(self, enabled: bool) -> None:
        """Called with False at the beginning of the end, and where it has too many connections."""
        if not enabled and not self.alive:
            super().set_accept_enabled(True)
            self._take_who_waits()
        super().set_accept_enabled(enabled)

    def _take_who_waits(self) -> None:
        until = time.monotonic() + _HANDSHAKE_SECONDS
        while (left := until - time.monotonic()) > 0 or self._is_waited_for():
            self.wait_for_and_dispatch_events(timeout=max(0.0, left))

    def _is_waited_for(self) -> bool:
        return bool(select.select(self.sockets, [], [], 0)[0])


def ignore_attempts_at_the_end(arbiter: Any) -> None:
    """Have gunicorn's first process ignore attempts to connect from SIGTERM on, before it tells
    the others. In a reload it tells them too, but others go on with the same sockets."""
    ends = signal.getsignal(signal.SIGTERM)

    def end(number: int, frame: FrameType | None) -> None:
        # A process that is just being made has this handler, too.
        if os.getpid() == arbiter.pid and _ends_with_it(arbiter):
            ignore_attempts(each.sock for each in arbiter.LISTENERS)
        if callable(ends):
            ends(number, frame)

    signal.signal(signal.SIGTERM, end)


def _ends_with_it(arbiter: Any) -> bool:
    """Whether nobody else goes on with its sockets: systemd, who made them, or another gunicorn
    that takes over (USR2). What the system is told of a socket stays with it."""
    takes_over = arbiter.reexec_pid or arbiter.master_pid
    given = arbiter.systemd or any(isinstance(each, int) for each in arbiter.cfg.address)
    return not takes_over and not given


def ignore_attempts(listeners: Iterable[socket.socket]) -> None:
    """Let the system drop attempts to connect to these sockets, for all processes that share them.
    Only Linux can; elsewhere nothing changes."""
    program = b"".join(struct.pack("HBBI", *line) for line in _IGNORE_ATTEMPTS)
    lines = ctypes.create_string_buffer(program)
    option = struct.pack("HL", len(_IGNORE_ATTEMPTS), ctypes.addressof(lines))
    for listener in listeners:
        if sys.platform == "linux" and listener.family in (socket.AF_INET, socket.AF_INET6):
            with suppress(OSError):
                listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, option)
