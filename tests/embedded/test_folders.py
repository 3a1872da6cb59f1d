"""The data folder and its lock, the run's servers, and readiness."""

import fcntl
import os
import signal
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.cache import cache
from django.db import connection

from marketplace.operate.embedded import gunicorn_config, pegboard_programs
from marketplace.operate.embedded.data_folder import (
    CannotRun,
    Lock,
    open_data_folder,
    read_or_create_key,
    run_folder,
)
from marketplace.operate.embedded.pegboard_programs import Web
from tests.local_servers import Handler, serve


def test_second_lock_on_a_folder_is_refused(tmp_path: Path) -> None:
    Lock(tmp_path).acquire()

    with pytest.raises(
        CannotRun, match=rf"Another Pegboard \(process {os.getpid()}\) already runs"
    ):
        Lock(tmp_path).acquire()


def test_released_lock_can_be_taken_again(tmp_path: Path) -> None:
    lock = Lock(tmp_path)
    lock.acquire()
    lock.release()

    Lock(tmp_path).acquire()

    assert (tmp_path / "lock").read_text() == str(os.getpid())


def test_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(CannotRun, match="cannot be written"):
        open_data_folder(tmp_path / "file" / "data")


def test_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)

    with pytest.raises(CannotRun, match="belongs to another user"):
        open_data_folder(tmp_path)


def test_what_an_earlier_version_left_open_is_closed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    open_data_folder(data)
    schedule = data / "beat-schedule"
    schedule.touch(mode=0o644)

    open_data_folder(data)

    assert schedule.stat().st_mode & 0o777 == 0o600


def test_key_is_made_once_and_private(tmp_path: Path) -> None:
    key = read_or_create_key(tmp_path, "secret_key")

    assert read_or_create_key(tmp_path, "secret_key") == key
    assert len(key) >= 50
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["deep/" * 30, "with space", "100%", "naïve"])
def test_sockets_of_awkward_paths_are_elsewhere(tmp_path: Path, name: str) -> None:
    folder = run_folder(tmp_path / name)

    assert len(str(folder)) < 60
    assert folder == run_folder(tmp_path / name)
    assert folder != run_folder(tmp_path / name / "other")


def test_sockets_are_in_the_data_folder_if_they_can() -> None:
    assert run_folder(Path("/srv/pegboard/.pegboard")) == Path("/srv/pegboard/.pegboard/run")


@pytest.mark.django_db
def test_tests_have_a_postgres_with_vectors() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
        cursor.execute("SELECT '[1,2]'::vector <-> '[1,3]'::vector, current_database()")
        distance, _database = cursor.fetchone()

    assert distance == 1


def test_tests_have_a_redis() -> None:
    cache.set("greeting", "hello", timeout=10)

    assert cache.get("greeting") == "hello"


def web(port: int) -> Web:
    return Web(host="0.0.0.0", port=port, logs=Path(), environment={})  # noqa: S104 - not bound


@pytest.fixture
def answering() -> Iterator[int]:
    """Return the port of a server that answers everything."""
    with serve(Answering) as server:
        yield server.server_port


class Answering(Handler):
    def do_GET(self) -> None:
        self.send_response(204)
        self.end_headers()


def test_web_is_ready_once_it_answers(answering: int) -> None:
    assert web(answering).is_ready()


def test_web_that_only_listens_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listen without an answer, as gunicorn does until its first worker has loaded."""
    monkeypatch.setattr(pegboard_programs, "PROBE_SECONDS", 0.1)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        assert not web(port).is_ready()
    assert not web(port).is_ready()


def test_a_worker_that_loads_for_long_is_seen_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """gunicorn kills a worker from which it hears nothing for `timeout`."""
    monkeypatch.setattr(gunicorn_config, "timeout", 0.04)
    told = threading.Event()

    with gunicorn_config._seen_alive(SimpleNamespace(notify=told.set)):
        assert told.wait(60)


def test_workers_take_turns_and_a_killed_one_has_lost_its_own() -> None:
    gunicorn_config.on_starting(None)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - it is killed
        with gunicorn_config._one_at_a_time():
            os.write(writing, b"x")
            signal.pause()
        os._exit(1)

    try:
        assert os.read(reading, 1) == b"x"
        with pytest.raises(BlockingIOError):
            fcntl.lockf(gunicorn_config._turn(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)
    with gunicorn_config._one_at_a_time():
        pass
