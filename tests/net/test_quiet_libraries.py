"""Quiet libraries: no telemetry, no looks for updates, no downloads on their own."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.net import watched_run
from tests.net.library_habits import HABITS, SIGNS, find_habits, locked_packages

CAN_UNSHARE = (
    sys.platform == "linux"
    and shutil.which("unshare") is not None
    and shutil.which("ip") is not None
    and subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True).returncode == 0  # noqa: S607
)


@pytest.mark.processes
@pytest.mark.skipif(not CAN_UNSHARE, reason="needs a network namespace: Linux, root, iproute2")
def test_whole_product_looks_no_name_up() -> None:
    """HOME-1: web, worker with beat, broker, connections, watcher; selecting, embedding, idle."""
    # A short path: sockets lie below it.
    data = Path(tempfile.mkdtemp(prefix="pegboard-watched-"))
    model = Path(os.environ["PEGBOARD_DATA_DIR"]) / "model"  # converting it again takes seconds
    shutil.copytree(model, data / "pegboard" / "model")
    command = ["unshare", "--net", "--mount", sys.executable, watched_run.__file__, str(data)]

    run = subprocess.run(command, capture_output=True, text=True)  # noqa: S603 - ours

    assert run.returncode == 0, run.stderr
    names = json.loads(run.stdout)
    assert set(names) == {watched_run.CONTROL}
    shutil.rmtree(data)


def test_every_habit_of_a_locked_package_has_its_line() -> None:
    habits = find_habits(locked_packages())

    missing = {name: signs for name, signs in habits.items() if name not in HABITS}
    assert not missing, "read what they do, and add a line to HABITS"
    assert HABITS.keys() <= locked_packages()


def test_habits_are_found_in_sources_and_in_compiled_code() -> None:
    habits = find_habits({"onnxruntime", "huggingface-hub", "django"})

    assert {"events.data.microsoft", "disable_telemetry"} <= habits["onnxruntime"]
    assert "check_for_update" in habits["huggingface-hub"]
    assert "django" not in habits
    assert all(sign == sign.lower() for sign in SIGNS)
