"""The supervisor and the graceful shutdown of the web server."""

import http.client
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random

import psutil
import pytest

from marketplace.operate.embedded import supervisor as supervisor_module
from marketplace.operate.embedded._child_processes import start_child, stop_child
from marketplace.operate.embedded.data_folder import CannotRun
from marketplace.operate.embedded.disk_guard import BrokenPart, read_broken_parts
from marketplace.operate.embedded.supervisor import Supervisor, describe_exit
from tests.embedded.answering import threads as THREADS
from tests.embedded.answering import workers as WORKERS
from tests.embedded.served import served
from tests.operate.deployment import wait_for
from tests.ports import free_port

pytestmark = pytest.mark.processes


class Sleeper:
    """A part whose process lives for `seconds`, and whose first `failing` restarts fail."""

    serves_others = False

    def __init__(
        self, folder: Path, seconds: str, *, name: str = "Sleeper", failing: int = 0
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0
        self._failing = failing
        self._command = ["sleep", seconds]

    def start(self) -> None:
        self.starts += 1
        if 1 < self.starts <= 1 + self._failing:
            raise CannotRun(f"{self.name} was not ready.")
        self.process = start_child(self._command, log=self.log)

    def stop(self) -> None:
        if self.process is not None:
            stop_child(self.process)


class Watched:
    """Supervisor with its output, watching until a condition holds."""

    def __init__(self, data: Path) -> None:
        self.output: list[str] = []
        self.supervisor = Supervisor(self.output.append, data=data)
        self._until: Callable[[], bool] = lambda: True
        self.supervisor.call_each_tick(self._look)

    def watch_until(self, condition: Callable[[], bool]) -> None:
        self._until = condition
        with pytest.raises(KeyboardInterrupt):
            self.supervisor.watch()

    def _look(self) -> None:
        if self._until():
            raise KeyboardInterrupt


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """A supervisor with short delays, which is stopped at the end."""
    monkeypatch.setattr(supervisor_module, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(supervisor_module, "LONGEST_DELAY", 0.05)
    watched = Watched(tmp_path)
    yield watched
    watched.supervisor.stop()


def test_part_that_never_stays_is_started_again_and_again(watched: Watched, tmp_path: Path) -> None:
    sleeper = Sleeper(tmp_path, "0")
    watched.supervisor.start(sleeper)

    watched.watch_until(lambda: sleeper.starts > 8)

    assert "Sleeper ended with code 0; starting it again.\n" in watched.output


def test_part_that_does_not_come_back_keeps_no_other_from_it(
    watched: Watched, tmp_path: Path
) -> None:
    lost = Sleeper(tmp_path, "0", name="Lost", failing=1_000_000)
    others = [Sleeper(tmp_path, "600", name=f"Other {number}") for number in range(3)]
    for part in (lost, *others):
        watched.supervisor.start(part)
    for part in others:
        assert part.process is not None
        part.process.kill()

    def others_are_back() -> bool:
        are_started = all(part.starts == 2 for part in others)
        return are_started and set(read_broken_parts(tmp_path)) == {"Lost"}

    watched.watch_until(lambda: lost.starts > 4 and others_are_back())

    broken = read_broken_parts(tmp_path)
    assert broken["Lost"].attempts >= 3
    assert broken["Lost"].reason == "Lost was not ready."


class Moody(Sleeper):
    """A part whose starts go as `moods` say; `noted` has its state in the file as each began.

    A mood is the reason of a failure, or "" for a start whose process ends at once. A failure
    leaves the process before it, none, or a new one, as a server does that is never ready.
    """

    def __init__(self, folder: Path, random: Random) -> None:
        super().__init__(folder, "0", name="Moody")
        reasons = ["", "The disk is full.", "Moody was not ready.", "No such program."]
        self.moods = ["", *random.choices(reasons, k=10)]
        self.noted: list[BrokenPart | None] = []
        self._random = random

    def start(self) -> None:
        self.noted.append(read_broken_parts(self.log.parent).get(self.name))
        mood = self.moods[self.starts]
        self.starts += 1
        left = self._random.choice(["earlier", "none", "new"]) if mood else "new"
        if left != "earlier":
            command = ["sleep", "600" if mood else "0"]
            self.process = start_child(command, log=self.log) if left == "new" else None
        if mood:
            raise CannotRun(mood)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("settled_seconds", [0.0, 60.0])
def test_reason_of_a_failed_start_stands_until_a_later_one_succeeds(
    watched: Watched,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    settled_seconds: float,
) -> None:
    monkeypatch.setattr(supervisor_module, "SETTLED_SECONDS", settled_seconds)
    monkeypatch.setattr(supervisor_module, "LONGEST_DELAY", 0.0)
    part = Moody(tmp_path, Random(seed))
    watched.supervisor.start(part)
    expected_notes, expected_lines, failures = list[BrokenPart | None]([None]), [], 0
    for mood in part.moods[:-1]:
        if not mood and settled_seconds == 0:
            failures = 0
        ended = BrokenPart(failures + 1, "Moody ended with code 0")
        expected_notes.append(BrokenPart(failures, mood) if mood else ended)
        ending = "did not start" if mood else "ended with code 0"
        expected_lines.append(f"Moody {ending}; starting it again.\n")
        failures += 1

    watched.watch_until(lambda: part.starts >= len(part.moods))

    assert part.noted[: len(part.moods)] == expected_notes
    lines = [line for line in watched.output if "starting it again" in line]
    assert lines[: len(expected_lines)] == expected_lines


def test_part_that_is_back_is_no_longer_broken(watched: Watched, tmp_path: Path) -> None:
    sleeper = Sleeper(tmp_path, "600", failing=2)
    watched.supervisor.start(sleeper)
    assert sleeper.process is not None
    sleeper.process.kill()

    watched.watch_until(lambda: sleeper.starts == 4 and not read_broken_parts(tmp_path))

    assert any(line.startswith("Sleeper … ready in") for line in watched.output)


def test_stopping_while_a_part_is_restarted_leaves_no_process(
    watched: Watched, tmp_path: Path
) -> None:
    sleepers = [Sleeper(tmp_path, "0.01", name=f"Part {number}") for number in range(4)]
    for part in sleepers:
        watched.supervisor.start(part)
    watched.watch_until(lambda: all(part.starts > 2 for part in sleepers))

    watched.supervisor.stop()

    assert all(part.process is not None and part.process.poll() is not None for part in sleepers)
    assert read_broken_parts(tmp_path) == {}


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"Web": 1}', b'{"Web": {"attempts": "x"}}', b"\xff"]
)
def test_unreadable_states_say_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "parts.json").write_bytes(content)

    assert read_broken_parts(tmp_path) == {}


def test_stopping_leaves_no_process(tmp_path: Path) -> None:
    supervisor = Supervisor(lambda _text: None)
    sleeper = Sleeper(tmp_path, "600")
    supervisor.start(sleeper)

    supervisor.stop()

    assert sleeper.process is not None
    assert sleeper.process.returncode == -signal.SIGTERM


def test_child_that_ignores_signals_is_ended(tmp_path: Path) -> None:
    child = start_child(["sh", "-c", "trap '' TERM; echo deaf; sleep 600"], log=tmp_path / "log")
    while "deaf" not in (tmp_path / "log").read_text():
        assert child.poll() is None

    stop_child(child, seconds=0.1)

    assert child.returncode == -signal.SIGKILL


def test_log_of_the_run_before_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "log"
    start_child(["echo", "first"], log=log).wait()

    start_child(["echo", "second"], log=log).wait()

    assert log.read_text() == "second\n"
    assert (tmp_path / "log.1").read_text() == "first\n"


def test_signal_is_named_in_words() -> None:
    assert describe_exit(-signal.SIGKILL) == "was ended by SIGKILL"


CLIENTS = 16


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["end", "reload"])
def test_who_connects_while_it_ends_is_answered_or_refused(number: signal.Signals) -> None:
    told = _ended_by(number)

    assert told["answered"]
    assert set(told) == ({"answered", "refused"} if number == signal.SIGTERM else {"answered"})


def test_socket_of_someone_else_stays_open_to_all() -> None:
    with socket.create_server(("127.0.0.1", 0)) as ours:
        port = ours.getsockname()[1]
        for _ in range(2):
            with served(f"fd://{ours.fileno()}", pass_fds=[ours.fileno()]) as web:
                told = _asked(port)

            assert (told, web.returncode) == ("answered", 0)


def test_another_that_takes_over_is_let_have_them_all() -> None:
    port = free_port()
    with served(f"127.0.0.1:{port}") as web:
        wait_for(lambda: _asked(port) == "answered", "listening")
        web.send_signal(signal.SIGUSR2)
        wait_for(lambda: len(psutil.Process(web.pid).children()) > WORKERS, "taking over")
        after = max(psutil.Process(web.pid).children(), key=lambda each: each.create_time())
        wait_for(lambda: len(after.children()) == WORKERS, "its processes")
        web.terminate()
        web.wait(120)
        told = _asked(port)
        after.terminate()
        psutil.wait_procs([after], timeout=120)

    assert told == "answered"


def test_process_that_has_grown_is_replaced_and_fails_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PEGBOARD_WEB_MEMORY_MEGABYTES", "1")
    port, over = free_port(), threading.Event()

    with served(f"127.0.0.1:{port}") as web, ThreadPoolExecutor(CLIENTS) as clients:
        wait_for(lambda: _asked(port) == "answered", "listening")
        first = set(psutil.Process(web.pid).children())
        asking = [clients.submit(_asked_until, over, port) for _ in range(CLIENTS)]
        wait_for(lambda: not first & set(psutil.Process(web.pid).children()), "replacing all")
        over.set()
        answers = sum((each.result() for each in asking), Counter[str]())

    assert set(answers) == {"answered"}


def _ended_by(number: signal.Signals) -> Counter[str]:
    """Return what clients get that connect repeatedly while the web server receives this signal."""
    port, over = free_port(), threading.Event()
    with served(f"127.0.0.1:{port}") as web, ThreadPoolExecutor(CLIENTS) as clients:
        wait_for(lambda: _asked(port) == "answered", "listening")
        before = psutil.Process(web.pid).children()
        asking = [clients.submit(_asked_until, over, port) for _ in range(CLIENTS)]
        time.sleep(0.3)
        web.send_signal(number)
        # Under this load: a process that stops accepts no new connections.
        _, left = psutil.wait_procs(before, timeout=60)
        time.sleep(1.5)  # an ignored connection attempt is repeated after a second
        over.set()
        told = sum((each.result() for each in asking), Counter[str]())
    assert not left
    return told


def _asked_until(over: threading.Event, port: int) -> Counter[str]:
    told: Counter[str] = Counter()
    while not over.is_set():
        told[_asked(port)] += 1
    return told


def _asked(port: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("GET", "/")
        return "answered" if connection.getresponse().read() == b"ok" else "odd"
    except ConnectionRefusedError:
        time.sleep(0.05)
        return "refused"
    except (OSError, http.client.HTTPException) as problem:
        return repr(problem)
    finally:
        connection.close()


def test_held_streams_take_no_threads_from_others(tmp_path: Path) -> None:
    """Hold as many streams as there are threads in all, and be answered nevertheless."""
    port, over = free_port(), tmp_path / "over"
    with served(f"127.0.0.1:{port}"), ExitStack() as streams:
        wait_for(lambda: _asked(port) == "answered", "listening")
        held = [
            streams.enter_context(closing(_open_stream(port, over, caller)))
            for caller in range(WORKERS * THREADS)
        ]
        begun = {stream.read(len(b": begun")) for stream in held}
        told = [_asked(port) for _ in range(WORKERS * THREADS)]
        over.touch()
        ended = {stream.read().strip() for stream in held}

    assert begun == {b": begun"}
    assert set(told) == {"answered"}
    assert ended == {b": done"}


def _open_stream(port: int, over: Path, caller: int) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {caller}", "Connection": "close"}
    connection.request("GET", f"/stream?{over}", headers=headers)
    return connection.getresponse()


@pytest.mark.parametrize("seed", range(4))
def test_what_serves_others_is_stopped_after_all_that_it_may_serve(
    tmp_path: Path, seed: int
) -> None:
    random = Random(seed)
    supervisor = Supervisor(lambda _text: None)
    ended: list[bool] = []

    class Part(Sleeper):
        def stop(self) -> None:
            super().stop()
            ended.append(self.serves_others)

    parts = [Part(tmp_path, "600", name=f"Part {number}") for number in range(6)]
    for part in parts:
        part.serves_others = random.random() < 0.5
        supervisor.start(part)

    supervisor.stop()

    assert ended == sorted(ended)
    assert len(ended) == len(parts)


def test_keepers_sleep_as_long_as_their_parts_run(
    watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeper = Sleeper(tmp_path, "600")
    watched.supervisor.start(sleeper)
    assert sleeper.process is not None
    looks, ticks = [0], [0]
    poll = sleeper.process.poll

    def counted() -> int | None:
        looks[0] += 1
        return poll()

    def ticked() -> bool:
        ticks[0] += 1
        return ticks[0] > 50

    monkeypatch.setattr(sleeper.process, "poll", counted)
    watched.watch_until(ticked)

    assert looks[0] <= 1
