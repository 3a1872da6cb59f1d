"""How the web ends: whoever is let in is answered, and whoever is not is refused."""

import http.client
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from tests.operations.deployment import free_port, wait_for

pytestmark = pytest.mark.processes
CLIENTS = 16
ROUNDS = 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["end", "reload"])
def test_who_connects_while_it_ends_is_answered_or_refused(number: signal.Signals) -> None:
    told: Counter[str] = Counter()
    for _ in range(ROUNDS):
        told += _ended_by(number)

    assert told["answered"]
    assert set(told) == ({"answered", "refused"} if number == signal.SIGTERM else {"answered"})


def _ended_by(number: signal.Signals) -> Counter[str]:
    """What clients are told that dial again and again while the web gets this signal."""
    port, over = free_port(), threading.Event()
    command = [*(sys.executable, "-m", "gunicorn"), "--config=python:tests.embedded.answering"]
    command += [f"--bind=127.0.0.1:{port}", "tests.embedded.answering"]
    with (
        subprocess.Popen(command, stderr=subprocess.DEVNULL) as web,  # noqa: S603 - ourselves
        ThreadPoolExecutor(CLIENTS) as clients,
    ):
        wait_for(lambda: _asked(port) == "answered", "listening")
        before = psutil.Process(web.pid).children()
        asking = [clients.submit(_asked_until, over, port) for _ in range(CLIENTS)]
        time.sleep(0.3)
        web.send_signal(number)
        # Under all these requests: who ends takes nobody new.
        _, left = psutil.wait_procs(before, timeout=20)
        assert not left
        time.sleep(1.5)  # an attempt that was ignored is made again after a second
        over.set()
        told = sum((each.result() for each in asking), Counter[str]())
        web.terminate()
    return told


def _asked_until(over: threading.Event, port: int) -> Counter[str]:
    told: Counter[str] = Counter()
    while not over.is_set():
        told[_asked(port)] += 1
    return told


def _asked(port: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
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
