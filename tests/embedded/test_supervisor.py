"""The supervisor, with parts that only sleep."""

import signal
import subprocess
from pathlib import Path

import pytest

from marketplace.operate.embedded.cannot_run import CannotRun
from marketplace.operate.embedded.child_processes import start_child, stop_child
from marketplace.operate.embedded.supervisor import RESTARTS, Supervisor, describe_exit

pytestmark = pytest.mark.processes


class Sleeper:
    """A part whose process lives for `seconds`."""

    name = "Sleeper"

    def __init__(self, folder: Path, seconds: str) -> None:
        self.log = folder / "sleeper.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0
        self._command = ["sleep", seconds]

    def start(self) -> None:
        self.starts += 1
        self.process = start_child(self._command, log=self.log)

    def stop(self) -> None:
        assert self.process is not None
        stop_child(self.process)


def test_part_that_ends_again_and_again_ends_the_run(tmp_path: Path) -> None:
    told: list[str] = []
    supervisor = Supervisor(told.append)
    sleeper = Sleeper(tmp_path, "0")
    supervisor.start(sleeper)

    with pytest.raises(
        CannotRun, match="Sleeper ended with code 0 for the 4th time within a minute"
    ):
        supervisor.watch()

    assert sleeper.starts == 1 + RESTARTS
    assert "Sleeper ended with code 0; starting it again.\n" in told


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
