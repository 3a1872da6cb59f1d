import fcntl
import os
import signal
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from marketplace.operate.embedded import gunicorn_config, pegboard_programs
from marketplace.operate.embedded.pegboard_programs import Web


def web(port: int) -> Web:
    return Web(host="0.0.0.0", port=port, logs=Path(), environment={})  # noqa: S104 - not bound


@pytest.fixture
def answering() -> Iterator[int]:
    """Return the port of a server that answers everything."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


class Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


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
