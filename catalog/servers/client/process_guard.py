"""The parent process of one server: enforces its limits and kills all its descendants.

Runs as a program with the standard library only, by `start_command`. On Linux it
is a subreaper, so processes that the server detaches become its children, whatever their session.
When Pegboard dies, the kernel signals it (PR_SET_PDEATHSIG) and it kills everything.
"""

import base64
import contextlib
import ctypes
import itertools
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from catalog.servers.cell.entry import CellEntry
from catalog.servers.cell.kernel_limits import FILES_BYTES, CellGroup

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
# Exit codes for a server killed by this process.
TOO_MUCH_MEMORY = 121
TOO_MUCH_CPU = 128 + signal.SIGXCPU
TOO_MANY_PROCESSES = 122
TOO_MUCH_DISK = 123
NOT_STARTED = 127
_POLL_SECONDS = 0.25
_TERM_SECONDS = 0.5
# The writable folder is measured every so many polls, and a walk ends after so many files.
_MEASURE_POLLS = 8
_MOST_FILES = 100_000
# What the system refuses at once, in multiples of what the guard tolerates: it counts threads, and
# as root the processes of all of an integration's cells.
_HARD_PROCESSES = 16
# Files that a program keeps must be readable for it where it is a user of its own.
_UMASK = 0o022
_ROOT = str(Path(__file__).parents[3])
_START = (
    "import sys; sys.path.append(sys.argv.pop(1)); "
    "from catalog.servers.client import process_guard; "
    "sys.exit(process_guard.main(sys.argv[1:]))"
)


def start_command(limits: Mapping[str, Any], command: Sequence[str]) -> list[str]:
    """Return the command line that runs a command under a guard of the calling process."""
    stated = json.dumps({**limits, "parent": os.getpid()})
    return [sys.executable, "-I", "-S", "-c", _START, _ROOT, stated, "--", *command]


def describe_cell(
    filter_program: bytes, *, listener: int | None, port: int, groups: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the part of the limits that makes the command a cell's."""
    return {
        "groups": list(groups),
        "filter": base64.b64encode(filter_program).decode(),
        "listener": listener,
        "port": port,
    }


def main(arguments: list[str]) -> int:
    """Run the command until it ends or a signal or limit ends it; return the exit code."""
    limits, command = json.loads(arguments[0]), arguments[2:]
    wakeup, received = _install_signal_handlers()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    # Pegboard died before PR_SET_PDEATHSIG took effect.
    if os.getppid() != limits["parent"]:
        return NOT_STARTED
    entry = CellEntry(limits["cell"]) if limits.get("cell") else None
    # The cell's control group: of no folders, it limits nothing.
    most = {
        # Beside the program's own memory, for the files that its cell keeps there.
        "memory": limits["memory_bytes"] + FILES_BYTES,
        "processes": _HARD_PROCESSES * limits["processes"],
        "cpu_cores": limits.get("cpu_cores", 1),
    }
    group = CellGroup((limits.get("cell") or {}).get("groups", ()), most)
    # Between fork and exec, the child sets its own limits.
    child = os.fork()
    if child == 0:
        group.enter()
        _exec_command(entry.command(command) if entry else command, limits)
    _detach_streams(keep_errors=entry is not None)
    if entry:
        entry.admit(_HARD_PROCESSES * limits["processes"])
        _detach_streams()
    code = _wait(child, limits, wakeup, received)
    if group.ran_out_of_memory:
        code = TOO_MUCH_MEMORY
    _end_all(child, in_cell=entry is not None)
    group.end()
    return code


def _wait(child: int, limits: dict[str, Any], wakeup: int, received: list[int]) -> int:
    for poll in itertools.count():
        select.select([wakeup], [], [], _POLL_SECONDS)
        with contextlib.suppress(BlockingIOError):
            os.read(wakeup, 100)
        for pid, status in _reap_children():
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
        if received:
            return 128 + received[0]
        tree = _list_descendants()
        if len(tree) > limits["processes"]:
            return TOO_MANY_PROCESSES
        if sum(_resident_bytes(pid) for pid in tree) > limits["memory_bytes"]:
            return TOO_MUCH_MEMORY
        if poll % _MEASURE_POLLS == 0 and _is_too_large(limits):
            return TOO_MUCH_DISK
    raise AssertionError("unreachable")


def _is_too_large(limits: dict[str, Any]) -> bool:
    """Return True if the writable folder holds more than allowed, in bytes or in files."""
    if not limits.get("folder"):
        return False
    size = files = 0
    for path, folders, names in os.walk(limits["folder"]):
        files += len(folders) + len(names)
        for name in names:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(path, name)).st_blocks * 512  # noqa: PTH118 - quicker
        if size > limits["disk_bytes"] or files > _MOST_FILES:
            return True
    return False


def _exec_command(command: list[str], limits: dict[str, Any]) -> None:
    """Apply the limits and replace this child process by the command."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        if limits.get("cell"):
            os.umask(_UMASK)
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for name, most in (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_CPU, limits["cpu_seconds"]),
            (resource.RLIMIT_FSIZE, limits["file_bytes"]),
            (resource.RLIMIT_NOFILE, limits["open_files"]),
        ):
            _, hard = resource.getrlimit(name)
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            # Within the limit of CPU time, a second before it, the signal says which one it was.
            soft = max(most - 1, 1) if name == resource.RLIMIT_CPU else most
            resource.setrlimit(name, (soft, most))
        os.execv(command[0], command)  # noqa: S606 - checked by launch_rules, no shell
    except OSError as problem:
        os.write(2, f"{command[0]}: {problem.strerror}\n".encode())
    finally:
        # Never return into the parent's code in the child.
        os._exit(NOT_STARTED)


def _end_all(child: int, *, in_cell: bool) -> None:
    """Ask the server to end, then kill all descendants until none is left."""
    _ask_to_end(child, in_cell=in_cell)
    deadline = time.monotonic() + _TERM_SECONDS
    while _list_descendants() and time.monotonic() < deadline:
        time.sleep(0.01)
        _reap_children()
    for _ in range(1_000):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        tree = _list_descendants()
        # Stop all first: while some are killed, the others could go on forking.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in tree:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        _reap_children()
        if not tree:
            return
        time.sleep(0.005)


def _ask_to_end(child: int, *, in_cell: bool) -> None:
    """Send SIGTERM to the server's group; in a cell, to all but bubblewrap."""
    if in_cell:
        for pid in _list_descendants():
            if pid != child:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGTERM)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGTERM)


def _list_descendants() -> list[int]:
    """Return all descendants; orphaned ones have become direct children."""
    descendants, waiting = [], [os.getpid()]
    while waiting:
        for pid in _children(waiting.pop()):
            descendants.append(pid)
            waiting.append(pid)
    return descendants


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                children += map(int, (thread / "children").read_text().split())
    return children


def _resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def _reap_children() -> list[tuple[int, int]]:
    """Reap all ended children; return their pids and statuses."""
    gone = []
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            gone.append((pid, status))
    return gone


def _install_signal_handlers() -> tuple[int, list[int]]:
    received: list[int] = []
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: received.append(number))
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    return reading, received


def _detach_streams(*, keep_errors: bool = False) -> None:
    """Close this process's copies of the streams, so that they end with the server."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1) if keep_errors else (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
