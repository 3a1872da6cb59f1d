"""Requests at a fixed rate, however long earlier ones take, so that no stall is hidden.

A request is timed from the moment at which it was due. The load ends by itself: a request that
could not be sent `GRACE_SECONDS` after the last was due is an error.
"""

import http.client
import json
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

CLIENTS = 32
GRACE_SECONDS = 30.0
_ANSWER_SECONDS = 60.0


@dataclass(slots=True)
class Load:
    """Latencies in milliseconds, and the reasons of failures."""

    milliseconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    cpu_seconds: float = 0.0

    @property
    def requests(self) -> int:
        return len(self.milliseconds) + self.failed

    @property
    def failed(self) -> int:
        return sum(self.errors.values())

    def p(self, percent: int) -> float:
        """Return a percentile of the latencies in milliseconds; infinite without any."""
        if len(self.milliseconds) < 2:
            return self.milliseconds[0] if self.milliseconds else float("inf")
        return statistics.quantiles(self.milliseconds, n=100, method="inclusive")[percent - 1]


class Client:
    """A kept connection to the web server, with the bearer of each request."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection = self._new()

    def ask(self, method: str, path: str, key: str, body: dict[str, Any] | None = None) -> Any:
        """Return the JSON of a 2xx answer; raise RuntimeError with any other status."""
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        try:
            content = json.dumps(body) if body is not None else None
            self._connection.request(method, path, content, headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = self._new()
            raise
        if answer.status // 100 != 2:
            raise RuntimeError(f"{answer.status} {_reason(text)}")
        return json.loads(text)

    def _new(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=_ANSWER_SECONDS)


def _reason(text: bytes) -> str:
    try:
        return str(json.loads(text).get("detail", ""))
    except (ValueError, AttributeError):
        return ""


def send_at_rate(
    send: Callable[[Client, int], None], *, port: int, rate: float, seconds: float
) -> Load:
    """Call `send` with a client and the request's number, `rate` times a second."""
    load, lock = Load(), threading.Lock()
    free: SimpleQueue[Client] = SimpleQueue()
    for _ in range(CLIENTS):
        free.put(Client(port))
    began = time.perf_counter() + 0.2
    until = began + seconds + GRACE_SECONDS

    def one(place: int) -> None:
        due = began + place / rate
        time.sleep(max(0.0, due - time.perf_counter()))
        client, problem = free.get(), ""
        try:
            if time.perf_counter() > until:
                problem = "not sent in time"
            else:
                send(client, place)
        except Exception as error:
            problem = str(error)[:120] or type(error).__name__
        finally:
            free.put(client)
        with lock:
            if problem:
                load.errors[problem] += 1
            else:
                load.milliseconds.append((time.perf_counter() - due) * 1000)

    with ThreadPoolExecutor(CLIENTS) as threads:
        list(threads.map(one, range(max(2, int(rate * seconds)))))
    return load
