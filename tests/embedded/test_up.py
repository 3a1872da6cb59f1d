"""`manage.py up` with all of its real processes.

The tests of this file share one run; the last two end it.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from django.core.management import call_command
from pytest_django import Settings

from tests.ports import free_port

PROJECT = Path(__file__).parents[2]
PATIENCE = 200  # seconds until a wait fails, on a busy machine too

pytestmark = pytest.mark.processes


class Run:
    """A running `manage.py up`, and its output so far."""

    def __init__(self, data: Path, port: int, **environment: str) -> None:
        self.data = data
        self.port = port
        self._told = data.with_suffix(".told")
        self.process = _up(data, port, self._told, **environment)

    @property
    def told(self) -> str:
        return self._told.read_text()

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while text not in self.told:
            assert self.process.poll() is None, self.told
            assert time.monotonic() < deadline, self.told
            time.sleep(0.1)

    def wait_for_log(self, name: str, text: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while text not in (log := (self.data / "logs" / name).read_text()):
            assert time.monotonic() < deadline, log
            time.sleep(0.1)

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)

    def descendants(self) -> list[psutil.Process]:
        found: list[psutil.Process] = psutil.Process(self.process.pid).children(recursive=True)
        return found


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    data = Path(tempfile.mkdtemp(prefix="pegboard-"))
    started = Run(data, free_port())
    started.wait_for("Pegboard runs on")
    yield started
    started.stop()
    shutil.rmtree(data)


@pytest.fixture
def umask() -> Iterator[None]:
    """Keep this process's mask, which `up` sets."""
    before = os.umask(0o077)
    yield
    os.umask(before)


def test_first_run_tells_each_step_and_the_way_in(run: Run) -> None:
    steps = re.findall(r"^(.+) … ready in \d+\.\d s$", run.told, re.MULTILINE)
    assert steps == [
        "Postgres",
        "Redis",
        "Embedding model",
        "Static files",
        "Database tables",
        "Starter collection",
        "Broker",
        "Web",
        "Worker",
        "Connections",
        "Manifests",
    ]
    assert re.search(r"admin with the password \S{16} \(shown only now\)", run.told)
    assert f"Pegboard runs on http://localhost:{run.port}/" in run.told


def test_first_admin_signs_in_with_the_password_that_was_told(run: Run) -> None:
    told = re.search(r"with the password (\S+) \(shown", run.told)
    assert told is not None
    with httpx.Client(base_url=f"http://localhost:{run.port}", timeout=60) as browser:
        browser.get("/sign-in/")
        token = browser.cookies["csrftoken"]
        form = {"csrfmiddlewaretoken": token, "login": "admin", "password": told.group(1)}
        answer = browser.post("/sign-in/", data=form, follow_redirects=True)
        people = browser.get("/people/")
        admin = browser.get("/admin/")

    assert answer.url.path == "/today/"
    assert people.status_code == admin.status_code == 200


@pytest.mark.usefixtures("umask")
def test_port_in_use_or_folder_in_use_is_one_sentence(run: Run, settings: Settings) -> None:
    """Run it in this process: that a process then ends so is seen below, and takes seconds."""
    settings.PEGBOARD_DATA_DIR = str(run.data.with_name("pegboard-other"))
    with pytest.raises(SystemExit) as same_port:
        call_command("up", port=run.port)
    settings.PEGBOARD_DATA_DIR = str(run.data)
    with pytest.raises(SystemExit) as same_folder:
        call_command("up", port=free_port())

    assert same_port.value.code == (
        f"Pegboard cannot run: Port {run.port} is already in use: "
        f"choose another, as in `make run PORT={run.port + 1}`."
    )
    told, holder = str(same_folder.value.code), run.process.pid
    assert told.startswith(f"Pegboard cannot run: Another Pegboard (process {holder}) already")
    assert "\n" not in told


def test_nobody_else_reads_what_is_in_the_data_folder(run: Run) -> None:
    """Other accounts may pass through the folder itself, as that of Postgres does.

    Below it, the model is a public file that all accounts of Pegboard may read.
    """
    deadline = time.monotonic() + PATIENCE
    while not list(run.data.glob("beat-schedule*")):
        assert time.monotonic() < deadline
        time.sleep(0.1)

    open_to_others = [
        f"{path.relative_to(run.data)}: {path.lstat().st_mode:o}"
        for path in run.data.iterdir()
        if not path.is_symlink() and path.name != "model" and path.lstat().st_mode & 0o077
    ]

    assert open_to_others == []
    assert run.data.stat().st_mode & 0o777 == 0o711


def test_process_that_talks_to_strangers_can_read_no_key(run: Run) -> None:
    """Search its environment, memory, open files, and all files and processes that it sees."""
    names = ("secret_key", "encryption_keys", "database_owner_password")
    keys = [(run.data / name).read_text().strip().encode() for name in names]
    run.wait_for_log("connections.log", " ready.")
    (found,) = [
        child
        for child in run.descendants()
        if "--queues=servers" in child.cmdline() and child.name() != "bwrap"
    ]
    process = found
    seen = Path(f"/proc/{process.pid}/root")
    if (seen / run.data.relative_to("/") / "lock").exists():
        pytest.skip("No cell can be made here, so that nothing is covered.")

    files = [path for path in (seen / run.data.relative_to("/")).rglob("*") if path.is_file()]
    files += (seen / "proc").glob("[0-9]*/environ")
    told = {str(path): path.read_bytes() for path in files} | {"memory": _memory_of(process.pid)}

    assert [name for name, text in told.items() if any(key in text for key in keys)] == []
    # Found is what it has to hold.
    password = (run.data / "database_password").read_text().strip().encode()
    assert password in told["memory"]
    assert any(path.endswith("sealing_key") for path in told)
    opened = {str(file.readlink()) for file in Path(f"/proc/{process.pid}/fd").iterdir()}
    below = {path for path in opened if path.startswith(str(run.data))}
    assert below == {str(run.data / "logs" / "connections.log")}
    # A model's library is 35 MB, and opens a store of its own in the home folder.
    assert "onnxruntime" not in Path(f"/proc/{process.pid}/maps").read_text()
    pids = {path.name for path in (seen / "proc").glob("[0-9]*")}
    assert len(pids) < 10, "it sees other processes than its own"


def test_broker_answers_nobody_who_was_not_started_by_the_supervisor(run: Run) -> None:
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(PATIENCE)
        channel.connect(str(run.data / "broker" / "socket"))

        assert channel.recv(1) == b""


def test_connections_log_has_no_errors(run: Run) -> None:
    """Kombu asks Redis each second whether its script is there, and needs a right for that."""
    run.wait_for_log("connections.log", " ready.")

    log = (run.data / "logs" / "connections.log").read_text()

    assert [line for line in log.splitlines() if '"level": "error"' in line] == []
    assert "NOPERM" not in log


def test_dead_worker_is_told_and_started_again(run: Run) -> None:
    worker = next(child for child in run.descendants() if "--beat" in child.cmdline())

    worker.kill()

    run.wait_for("Worker was ended by SIGKILL; starting it again.\nWorker … ready")


def test_manifest_is_loaded_also_after_the_watcher_was_killed(run: Run) -> None:
    watcher = next(child for child in run.descendants() if "watch_capabilities" in child.cmdline())
    watcher.kill()
    run.wait_for("Manifests was ended by SIGKILL; starting it again.\nManifests … ready")

    folder = run.data / "home" / ".pegboard" / "capabilities" / "lamp"
    folder.mkdir(parents=True)
    (folder / "CAPABILITY.yaml").write_text("name: lamp\nkind: tool\ndescription: x\n")

    run.wait_for_log("manifests.log", '"created": 1')


def test_database_is_back_after_kill_9(run: Run) -> None:
    postgres = next(child for child in run.descendants() if child.name() == "postgres")

    postgres.kill()

    run.wait_for("Postgres was ended by SIGKILL; starting it again.\nPostgres … ready")


def test_ctrl_c_stops_everything(run: Run) -> None:
    children = run.descendants()

    code = run.stop()

    assert code == 0
    assert psutil.wait_procs(children, timeout=PATIENCE)[1] == []


def test_second_run_starts_and_dies_with_all_its_children(run: Run) -> None:
    run.stop()
    again = Run(run.data, run.port, WEB_CONCURRENCY="1")  # what is told does not depend on it
    again.wait_for("Pegboard runs on")
    children = again.descendants()

    again.process.kill()

    again.process.wait()
    assert psutil.wait_procs(children, timeout=PATIENCE)[1] == []
    assert "Embedding model" not in again.told
    assert "shown only now" not in again.told


def test_database_that_does_not_answer_is_one_sentence(tmp_path: Path) -> None:
    url = f"postgresql://peg:hush@127.0.0.1:{free_port()}/pegboard"

    answer = _refused(tmp_path / "data", free_port(), DATABASE_URL=url)

    assert "Pegboard cannot run: the database at 127.0.0.1:" in answer
    assert "hush" not in answer
    assert "Traceback" not in answer


def _memory_of(pid: int) -> bytes:
    """Return what a process has in its readable memory."""
    parts = []
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, mode = line.split()[:2]
            start, end = (int(part, 16) for part in span.split("-"))
            if mode.startswith("rw"):
                memory.seek(start)
                parts.append(memory.read(end - start))
    return b"".join(parts)


def _up(data: Path, port: int, told: Path, **environment: str) -> subprocess.Popen[bytes]:
    names = ("DATABASE_URL", "REDIS_URL", "PEGBOARD_SECRET_KEY")
    bare = {name: value for name, value in os.environ.items() if name not in names}
    # Other tests do without cells.
    bare["PEGBOARD_CELL"] = "preferred"
    with told.open("wb") as output:
        return subprocess.Popen(  # noqa: S603 - ours
            [sys.executable, PROJECT / "manage.py", "up", f"--port={port}"],
            # A home of its own, so that manifests of the person who runs the tests are not read.
            env=bare | {"PEGBOARD_DATA_DIR": str(data), "HOME": str(data / "home")} | environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def _refused(data: Path, port: int, **environment: str) -> str:
    told = data.with_name(f"{data.name}.refused")
    process = _up(data, port, told, **environment)

    assert process.wait(PATIENCE) == 1
    answer = told.read_text()
    told.unlink()
    return answer
