"""Supervisor of Pegboard's servers and programs: starts, watches, restarts and stops them."""

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from acl.platform.back_off import BackOff
from marketplace.operate.embedded.disk_guard import BrokenPart, write_broken_parts

TICK_SECONDS = 1.0
LONGEST_DELAY = 60.0  # seconds between two starts of a part that does not come back
SETTLED_SECONDS = 60.0  # a part that has run for so long begins again without a delay


class SupervisedPart(Protocol):
    """A server or program under supervision."""

    @property
    def name(self) -> str: ...
    @property
    def serves_others(self) -> bool: ...  # as databases do: it is stopped after those it serves
    @property
    def log(self) -> Path: ...
    @property
    def process(self) -> subprocess.Popen[bytes] | None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...


class BeginningPart(SupervisedPart, Protocol):
    """Part that may start beside others."""

    def begin(self) -> object: ...


class Supervisor:
    """Starts parts in order and restarts them. `write` prints text without adding a newline.

    Each part is kept by a thread of its own, which lives as long as the supervisor: the system ends
    a child when the thread that started it ends.
    """

    def __init__(self, write: Callable[[str], object], *, data: Path | None = None) -> None:
        self._write = write
        self._data = data
        self._parts: list[SupervisedPart] = []
        self._broken: dict[str, BrokenPart] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._keepers: list[threading.Thread] = []
        self._retried_at = 0.0
        self._each_tick: list[Callable[[], object]] = []

    def say(self, line: str) -> None:
        """Print a line."""
        with self._lock:
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

    def start(self, part: SupervisedPart) -> None:
        """Start a part, or wait for one that begins already, and supervise it."""
        if part not in self._parts:
            self._parts.append(part)
        with self.step(part.name):
            part.start()

    def begin(self, part: BeginningPart) -> None:
        """Begin to start a part while others are prepared: `start` then waits until it is ready."""
        self._parts.append(part)
        part.begin()

    def call_each_tick(self, work: Callable[[], object]) -> None:
        """Call `work` once a second while watching."""
        self._each_tick.append(work)

    def watch(self) -> None:
        """Restart parts that end, beside each other. Returns only by an exception, such as Ctrl-C.

        A part that does not come back is tried again and again, while the others go on.
        """
        self._note_broken()
        self._keepers = [
            threading.Thread(target=self._keep, args=(part,), name=part.name, daemon=True)
            for part in self._parts
        ]
        for keeper in self._keepers:
            keeper.start()
        while True:
            time.sleep(TICK_SECONDS)
            for work in self._each_tick:
                work()

    def retry_now(self) -> None:
        """End the delays of all parts that wait to be started again: what they lacked is there."""
        self._retried_at = time.monotonic()

    def stop(self) -> None:
        """Stop all parts: first those that serve no others, then those that served them.

        Parts of a kind are stopped beside each other.
        """
        self._stopping.set()
        for serves_others in (False, True):
            stops = []
            for part in reversed(self._parts):
                if part.process is not None and part.serves_others == serves_others:
                    self.say(f"Stopping {part.name}")
                    stops.append(threading.Thread(target=part.stop, name=f"stop {part.name}"))
                    stops[-1].start()
            for stop in stops:
                stop.join()
        while any(keeper.is_alive() for keeper in self._keepers):
            for part in self._parts:
                part.stop()  # one that a keeper was just starting
            self._keepers[0].join(0.1)
            self._keepers = [keeper for keeper in self._keepers if keeper.is_alive()]
        self._parts.clear()
        self._broken.clear()
        self._note_broken()

    def _keep(self, part: SupervisedPart) -> None:
        """Restart one part whenever it ends, until the supervisor stops.

        The reason of a failed start stands until a later one succeeds: how the process before it
        ended, or the one it left behind, would tell nobody what to mend.
        """
        back_off, problem, ready_at = BackOff(longest=LONGEST_DELAY), "", time.monotonic()
        while not self._stopping.is_set():
            if not problem and part.process is not None and part.process.poll() is None:
                part.process.wait()  # asleep, where asking each second would wake up for nothing
                continue
            ending = "did not start"
            if not problem:
                if time.monotonic() - ready_at > SETTLED_SECONDS:
                    back_off.succeeded()
                ending = describe_exit(part.process.returncode) if part.process else ending
                reason = f"{part.name} {ending}"
                self._note_broken(part.name, BrokenPart(back_off.failures + 1, reason))
            delay = f" in {back_off.pause:.0f} s" if back_off.pause else ""
            self.say(f"{part.name} {ending}; starting it again{delay}.")
            self._wait(back_off.pause)
            if self._stopping.is_set():
                return
            tried_at = time.monotonic()
            back_off.failed(tried_at)
            problem = self._start_again(part)
            ready_at = time.monotonic()
            if self._stopping.is_set():
                part.stop()  # `stop` may have come before the new process
            elif problem:
                self.say(f"{part.name} … {problem}")
                self._note_broken(part.name, BrokenPart(back_off.failures, problem))
            else:
                self.say(f"{part.name} … ready in {ready_at - tried_at:.1f} s")
                self._note_broken(part.name, None)

    def _wait(self, delay: float) -> None:
        """Wait for `delay` seconds, or until everything is to stop or to be tried at once."""
        started_at = time.monotonic()
        while time.monotonic() < started_at + delay and self._retried_at < started_at:
            if self._stopping.wait(TICK_SECONDS):
                return

    def _start_again(self, part: SupervisedPart) -> str:
        """Start a part that has ended; return why that failed, or ""."""
        try:
            part.stop()  # what is left of its session
            part.start()
        except Exception as problem:  # a full disk, a missing program, a database that says no
            part.stop()
            return str(problem) or type(problem).__name__
        return ""

    def _note_broken(self, name: str = "", part: BrokenPart | None = None) -> None:
        with self._lock:
            if part is not None:
                self._broken[name] = part
            else:
                self._broken.pop(name, None)
            if self._data is not None:
                write_broken_parts(self._data, self._broken)


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
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.default_int_handler) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ignoring_signals() -> Iterator[None]:
    """Ignore signals during shutdown; each part has its own time limit."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
