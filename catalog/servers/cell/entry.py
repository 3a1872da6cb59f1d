"""The way into a cell, walked by the process guard: descriptors, limits, and the proxy's socket.

Standard library only. bubblewrap waits for `admit` before it starts the program, so the limits and
the proxy are there first.
"""

import base64
import ctypes
import fcntl
import json
import os
import resource
import socket
from collections.abc import Mapping
from typing import Any

_NS_GET_USERNS = 0xB701  # of <linux/nsfs.h>; below, of <linux/sched.h>
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_BACKLOG = 64


class CellEntry:
    """The pipes between the guard and bubblewrap."""

    def __init__(self, cell: Mapping[str, Any]) -> None:
        self._cell = cell
        if cell["listener"] is not None:
            os.set_inheritable(cell["listener"], False)
        self._info, self._told = os.pipe()
        self._waiting, self._go = os.pipe()
        self._filter = _filled_pipe(base64.b64decode(cell["filter"]))

    def command(self, command: list[str]) -> list[str]:
        """Return the command with its descriptors; the calling child is about to become it."""
        options = ["--info-fd", str(self._told), "--block-fd", str(self._waiting)]
        if self._filter is not None:
            options += ["--seccomp", str(self._filter)]
        for descriptor in (self._told, self._waiting, self._filter):
            if descriptor is not None:
                os.set_inheritable(descriptor, True)
        return [command[0], *options, *command[1:]]

    def admit(self, processes: int) -> None:
        """Wait until the cell is made, set its limits, and let the program start."""
        for descriptor in (self._told, self._waiting, self._filter):
            if descriptor is not None:
                os.close(descriptor)
        if inner := _read_inner_pid(self._info):
            # Limit a bomb that forks faster than the guard counts. Since Linux 5.14 the processes
            # of a user are counted in each user namespace; before, the limit would count all of
            # Pegboard's.
            release = os.uname().release.split(".")
            if (int(release[0]), int(release[1].partition("-")[0])) >= (5, 14) or os.geteuid() == 0:
                resource.prlimit(inner, resource.RLIMIT_NPROC, (processes, processes))
            if self._cell["listener"] is not None:
                _send_listener(inner, self._cell["listener"], self._cell["port"])
            os.write(self._go, b"x")
        for descriptor in (self._info, self._go):
            os.close(descriptor)


def _filled_pipe(content: bytes) -> int | None:
    if not content:
        return None
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    return reading


def _read_inner_pid(info: int) -> int:
    """Return the pid of the cell's first process, or 0 if bubblewrap could not make the cell."""
    text = b""
    while b"}" not in text:
        part = os.read(info, 4_096)
        if not part:
            return 0
        text += part
    return int(json.loads(text)["child-pid"])


def _send_listener(pid: int, channel: int, port: int) -> None:
    """Listen on the cell's loopback, and hand the socket to the process outside that answers.

    So nothing of ours runs in the cell, and no path leads out of it.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
            if os.geteuid() != 0:
                # Rights over the network come with those of the user namespace that owns it.
                _setns(fcntl.ioctl(network, _NS_GET_USERNS), _CLONE_NEWUSER)
            _setns(network, _CLONE_NEWNET)
            # Any address: bubblewrap may not have set up the loopback yet, and there is no other.
            listening = socket.create_server(("", port), backlog=_BACKLOG)
            with socket.socket(fileno=channel) as sender:
                socket.send_fds(sender, [b"x"], [listening.fileno()])
            status = 0
        except OSError as problem:
            os.write(2, f"The cell has no proxy: {problem.strerror}\n".encode())
        finally:
            os._exit(status)
    os.waitpid(child, 0)
    os.close(channel)


def _setns(descriptor: int, kind: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, kind):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
