"""Child processes that never outlive us."""

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO

import psutil

from marketplace.operate.embedded.cannot_run import CannotRun
from marketplace.operate.embedded.server_account import OURSELVES, Account

# Loaded here because nothing may be imported between fork and exec.
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1
# Servers get none of our environment: others may read theirs, and ours has keys in it.
BARE = {"PATH": os.defpath, "LC_ALL": "C"}
_TAIL_BYTES = 4000
_TELLING = re.compile(r"FATAL|ERROR|rror:")


def start_child(
    command: Sequence[str | Path],
    *,
    log: Path | None,
    account: Account = OURSELVES,
    environment: Mapping[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
    when_parent_dies: signal.Signals = signal.SIGTERM,
) -> subprocess.Popen[bytes]:
    """Start `command` in a session of its own: Ctrl-C reaches only us, and we stop it in order.

    What it says goes to `log`, or where our own words go.
    """
    with _opened(log) as output:
        return subprocess.Popen(  # noqa: S603 - the commands are ours
            [*account.prefix, *command],
            stdin=stdin,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            env=environment,
            user=account.uid,
            group=account.gid,
            extra_groups=[] if account.uid is not None else None,
            start_new_session=True,
            preexec_fn=_tie_to(os.getpid(), when_parent_dies),
        )


def stop_child(
    child: subprocess.Popen[bytes], *, by: signal.Signals = signal.SIGTERM, seconds: float = 10
) -> None:
    """Ask the child to stop, wait, then end whatever is left of its session."""
    if child.poll() is None:
        child.send_signal(by)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
    with contextlib.suppress(ProcessLookupError, PermissionError):  # where nothing of it is left
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def wait_until(
    ready: Callable[[], bool], *, child: subprocess.Popen[bytes], name: str, log: Path
) -> None:
    """Return once `ready()`; a child that ends first, or takes over a minute, is an error."""
    deadline = time.monotonic() + 60
    while not ready():
        if child.poll() is not None:
            told = last_words(log)
            raise CannotRun(f"{name} ended at its start ({told}); all of it is in {log}.")
        if time.monotonic() > deadline:
            raise CannotRun(f"{name} was not ready after a minute; what it said is in {log}.")
        time.sleep(0.02)


def wait_for_remains(folder: Path, *, name: str) -> None:
    """Wait for processes of an earlier run that was killed: all of a server's work in `folder`."""
    deadline = time.monotonic() + 30
    while _works_in(folder):
        if time.monotonic() > deadline:
            raise CannotRun(f"{name} of an earlier run still works in {folder}: stop it first.")
        time.sleep(0.1)


def last_words(log: Path) -> str:
    """The last line of a log that says something."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines()]
    telling = [line for line in lines if _TELLING.search(line)] or [line for line in lines if line]
    return telling[-1] if telling else "it said nothing"


def _opened(log: Path | None) -> AbstractContextManager[IO[bytes] | None]:
    if log is None:
        return contextlib.nullcontext()
    if log.exists():
        log.replace(log.with_name(f"{log.name}.1"))  # what the run before this one said
    return log.open("wb")


def _works_in(folder: Path) -> bool:
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):  # it ended, or it is nobody of ours
            if process.cwd() == str(folder):
                return True
    return False


def _tie_to(parent: int, when_parent_dies: signal.Signals) -> Callable[[], None]:
    """What the child does before it becomes the command: ask for a signal at the parent's death."""

    def tie() -> None:
        if _libc is not None:
            _libc.prctl(_PR_SET_PDEATHSIG, when_parent_dies)
            if os.getppid() != parent:  # it died before we asked
                os._exit(1)

    return tie
