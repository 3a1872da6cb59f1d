"""Graceful shutdown of the web server: accepted requests are answered, others refused."""

import http.client
import signal
import socket
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import psutil
import pytest

from tests.embedded.answering import threads as THREADS
from tests.embedded.answering import workers as WORKERS
from tests.embedded.served import served
from tests.operate.deployment import wait_for
from tests.ports import free_port

pytestmark = pytest.mark.processes
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
