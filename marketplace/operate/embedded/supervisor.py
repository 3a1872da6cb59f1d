"""Starts the parts of Pegboard, one after the other, and keeps them running until it is stopped."""

import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from marketplace.operate.embedded.cannot_run import CannotRun
from marketplace.operate.embedded.child_processes import last_words

RESTARTS = 3  # of one part, within a minute; more often it would only fail again


class Part(Protocol):
    """A server or program that the supervisor starts, watches and stops."""

    @property
    def name(self) -> str: ...
    @property
    def log(self) -> Path: ...
    @property
    def process(self) -> subprocess.Popen[bytes] | None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...


class Supervisor:
    """Tells every step to `write`, which takes a text and adds nothing to it."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._parts: list[Part] = []
        self._restarts: dict[str, list[float]] = defaultdict(list)

    def say(self, line: str) -> None:
        """Tell one line."""
        self._write(f"{line}\n")

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Tell that `name` begins, and when it is done how long it took."""
        self._write(f"{name} … ")
        started = time.monotonic()
        try:
            yield
        except BaseException:
            self._write("\n")
            raise
        self._write(f"ready in {time.monotonic() - started:.1f} s\n")

    def start(self, part: Part) -> None:
        """Start the part and keep it from now on."""
        self._parts.append(part)
        with self.step(part.name):
            part.start()

    def watch(self) -> None:
        """Start again what dies; return never, but by an exception."""
        while True:
            time.sleep(0.5)
            for part in self._parts:
                if part.process is not None and part.process.poll() is not None:
                    self._restart(part, how_it_ended(part.process.returncode))

    def stop(self) -> None:
        """Stop everything, the last started first."""
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
                f"({last_words(part.log)}); all of it is in {part.log}."
            )
        self._restarts[part.name] = [*recent, now]
        self.say(f"{part.name} {ending}; starting it again.")
        part.stop()
        with self.step(part.name):
            part.start()


def how_it_ended(code: int) -> str:
    """A process's exit code in words."""
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with code {code}"


@contextmanager
def stopping_on_signals() -> Iterator[None]:
    """Turn SIGTERM and a closed terminal into what Ctrl-C is, KeyboardInterrupt.

    SIGINT too: a shell starts background jobs with SIGINT ignored, and they could not be stopped.
    """
    wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.default_int_handler) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let no signal interrupt the stopping; each part has its own time limit."""
    wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
