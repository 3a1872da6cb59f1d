"""The parent process of one server: enforces its limits and kills all its descendants.

Runs as a program with the standard library only: `process_guard.py LIMITS -- COMMAND`. On Linux it
is a subreaper, so processes that the server detaches become its children, whatever their session.
When Pegboard dies, the kernel signals it (PR_SET_PDEATHSIG) and it kills everything.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
# Exit codes for a server killed by this process.
TOO_MUCH_MEMORY = 121
TOO_MANY_PROCESSES = 122
NOT_STARTED = 127
_POLL_SECONDS = 0.25
_TERM_SECONDS = 0.5


def main(arguments: list[str]) -> int:
    """Run the command until it ends or a signal or limit ends it; return the exit code."""
    limits, command = json.loads(arguments[0]), arguments[2:]
    wakeup, received = _install_signal_handlers()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    # Pegboard died before PR_SET_PDEATHSIG took effect.
    if os.getppid() != limits["parent"]:
        return NOT_STARTED
    # Between fork and exec, the child sets its own limits.
    child = os.fork()
    if child == 0:
        _exec_command(command, limits)
    _detach_streams()
    code = _wait(child, limits, wakeup, received)
    _end_all(child)
    return code


def _wait(child: int, limits: dict[str, int], wakeup: int, received: list[int]) -> int:
    while True:
        select.select([wakeup], [], [], _POLL_SECONDS)
        with contextlib.suppress(BlockingIOError):
            os.read(wakeup, 100)
        for pid, status in _reap_children():
            if pid == child:
                return _exit_code(status)
        if received:
            return 128 + received[0]
        tree = _list_descendants()
        if len(tree) > limits["processes"]:
            return TOO_MANY_PROCESSES
        if sum(_resident_bytes(pid) for pid in tree) > limits["memory_bytes"]:
            return TOO_MUCH_MEMORY


def _exec_command(command: list[str], limits: dict[str, int]) -> None:
    """Apply the limits and replace this child process by the command."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for name, most in (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_CPU, limits["cpu_seconds"]),
            (resource.RLIMIT_FSIZE, limits["file_bytes"]),
            (resource.RLIMIT_NOFILE, limits["open_files"]),
        ):
            _, hard = resource.getrlimit(name)
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(name, (most, most))
        os.execv(command[0], command)  # noqa: S606 - checked by launch_rules, no shell
    except OSError as problem:
        os.write(2, f"{command[0]}: {problem.strerror}\n".encode())
    finally:
        # Never return into the parent's code in the child.
        os._exit(NOT_STARTED)


def _end_all(child: int) -> None:
    """Send SIGTERM to the server's group, then kill all descendants until none is left."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGTERM)
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


def _list_descendants() -> list[int]:
    """Return all descendants; orphaned ones have become direct children."""
    found, waiting = [], [os.getpid()]
    while waiting:
        for pid in _children(waiting.pop()):
            found.append(pid)
            waiting.append(pid)
    return found


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


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


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


def _detach_streams() -> None:
    """Close this process's copies of the streams, so that they end with the server."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
