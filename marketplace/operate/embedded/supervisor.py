"""Supervisor of Pegboard's servers and programs: starts, watches, restarts and stops them."""

import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from marketplace.operate.embedded.cannot_run import CannotRun
from marketplace.operate.embedded.child_processes import last_error

RESTARTS = 3  # per part and minute; then it gives up


class Part(Protocol):
    """A server or program under supervision."""

    @property
    def name(self) -> str: ...
    @property
    def log(self) -> Path: ...
    @property
    def process(self) -> subprocess.Popen[bytes] | None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...


class Supervisor:
    """Starts parts in order and restarts them. `write` prints text without adding a newline."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._parts: list[Part] = []
        self._restarts: dict[str, list[float]] = defaultdict(list)

    def say(self, line: str) -> None:
        """Print a line."""
        self._write(f"{line}\n")

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Print the name of a step, and its duration when it is done."""
        self._write(f"{name} … ")
        started = time.monotonic()
        try:
            yield
        except BaseException:
            self._write("\n")
            raise
        self._write(f"ready in {time.monotonic() - started:.1f} s\n")

    def start(self, part: Part) -> None:
        """Start a part and supervise it."""
        self._parts.append(part)
        with self.step(part.name):
            part.start()

    def watch(self) -> None:
        """Restart parts that end. Returns only by an exception."""
        while True:
            time.sleep(0.5)
            for part in self._parts:
                if part.process is not None and part.process.poll() is not None:
                    self._restart(part, describe_exit(part.process.returncode))

    def stop(self) -> None:
        """Stop all parts, last started first."""
        for part in reversed(self._parts):
            if part.process is not None:
                self.say(f"Stopping {part.name}")
                part.stop()
        self._parts.clear()

    def _restart(self, part: Part, ending: str) -> None:
        now = time.monotonic()
        recent = [moment for moment in self._restarts[part.name] if moment > now - 60]
        if len(recent) >= RESTARTS:
            raise CannotRun(
                f"{part.name} {ending} for the {RESTARTS + 1}th time within a minute "
                f"({last_error(part.log)}); see {part.log}."
            )
        self._restarts[part.name] = [*recent, now]
        self.say(f"{part.name} {ending}; starting it again.")
        part.stop()
        with self.step(part.name):
            part.start()


def describe_exit(code: int) -> str:
    """Describe an exit code."""
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with code {code}"


@contextmanager
def stopping_on_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt, as Ctrl-C does.

    SIGINT as well, because shells start background jobs with SIGINT ignored.
    """
    wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.default_int_handler) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ignoring_signals() -> Iterator[None]:
    """Ignore signals during shutdown; each part has its own time limit."""
    wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
