"""The parent of one server: holds it within its limits, and ends all that it ever started.

Run as a program of its own, by the standard library only: `keeper.py LIMITS -- COMMAND`. Whatever
the server starts and lets go of becomes the keeper's child (on Linux), in whatever session it is:
nothing survives it. When Pegboard dies the system tells the keeper, and it ends everything.
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
# How the keeper ends when it has ended the server itself.
TOO_MUCH_MEMORY = 121
TOO_MANY_PROCESSES = 122
NOT_STARTED = 127
_LOOK_EVERY = 0.25
_PATIENCE = 0.5


def main(arguments: list[str]) -> int:
    """Start the command, wait for its end or for being told to end it; the exit code says which."""
    limits, command = json.loads(arguments[0]), arguments[2:]
    wakeup, told = _listen_to_signals()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != limits["parent"]:
        return NOT_STARTED
    child = os.fork()
    if child == 0:
        _become(command, limits)
    _let_go_of_streams()
    code = _wait(child, limits, wakeup, told)
    _end_all(child)
    return code


def _wait(child: int, limits: dict[str, int], wakeup: int, told: list[int]) -> int:
    while True:
        select.select([wakeup], [], [], _LOOK_EVERY)
        with contextlib.suppress(BlockingIOError):
            os.read(wakeup, 100)
        for pid, status in _buried():
            if pid == child:
                return _code(status)
        if told:
            return 128 + told[0]
        tree = _tree()
        if len(tree) > limits["processes"]:
            return TOO_MANY_PROCESSES
        if sum(_resident_bytes(pid) for pid in tree) > limits["memory_bytes"]:
            return TOO_MUCH_MEMORY


def _become(command: list[str], limits: dict[str, int]) -> None:
    """In the child: limits first, then the command in place of ourselves."""
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
        os.execv(command[0], command)  # noqa: S606 - checked by commands.py, and no shell is wanted
    except OSError as problem:
        os.write(2, f"{command[0]}: {problem.strerror}\n".encode())
    finally:
        os._exit(NOT_STARTED)


def _end_all(child: int) -> None:
    """Ask the server's group to end, then kill whatever is left, until nothing is."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGTERM)
    patient_until = time.monotonic() + _PATIENCE
    while _tree() and time.monotonic() < patient_until:
        time.sleep(0.01)
        _buried()
    for _ in range(1_000):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        tree = _tree()
        # Stopped first: what is killed one by one could go on forking.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in tree:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        _buried()
        if not tree:
            return
        time.sleep(0.005)


def _tree() -> list[int]:
    """All our descendants; those who lost their parents are our own children."""
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


def _buried() -> list[tuple[int, int]]:
    """Take leave of every child that has ended."""
    gone = []
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            gone.append((pid, status))
    return gone


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _listen_to_signals() -> tuple[int, list[int]]:
    told: list[int] = []
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: told.append(number))
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    return reading, told


def _let_go_of_streams() -> None:
    """The server's streams are the server's alone: when it ends, they end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
