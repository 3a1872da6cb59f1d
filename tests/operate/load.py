"""A chat backend with steady requests, and the record of its answers.

Like a proxy (docker/Caddyfile) it retries refused connections for some seconds. A request that a
server has accepted is never sent twice.
"""

import http.client
import itertools
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

DIAL_SECONDS = 60.0
REFUSED = "refused"
_ANSWER_SECONDS = 120.0
_LONGEST_SECONDS = 400.0  # the load ends by itself
USER = "alice"
MESSAGES = (
    "what time is it in Tokyo",
    "find the file with the invoices",
    "commit my changes",
    "read the page at this address",
    "send an email to Anna",
    "remember that I like tea",
    "plan the steps of the move",
    "search the web for a recipe",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A request: when it was due, in seconds since the start, and its result."""

    due: float
    ended: float
    message: str
    status: int  # 0 if there was no answer
    names: tuple[str, ...] = ()
    turn: str = ""
    told: str = ""  # the error

    @property
    def ok(self) -> bool:
        return self.status == 200

    @property
    def is_refused(self) -> bool:
        """Return True if nobody listened, so that the request may be retried."""
        return self.told == REFUSED

    @property
    def milliseconds(self) -> float:
        return (self.ended - self.due) * 1000


@dataclass(slots=True)
class Load:
    """Results of all requests."""

    began: float
    answers: list[Answer] = field(default_factory=list)

    @property
    def now(self) -> float:
        return time.monotonic() - self.began

    @property
    def failed(self) -> list[Answer]:
        return [answer for answer in self.answers if not answer.ok]

    def p(self, share: float) -> float:
        """Return a percentile of the latencies in milliseconds."""
        times = sorted(answer.milliseconds for answer in self.answers)
        return times[min(len(times) - 1, int(len(times) * share))]


@contextmanager
def steady_load(
    port: int,
    key: str,
    *,
    rate: float = 10,
    dial_seconds: float = DIAL_SECONDS,
    user: str = USER,
    tls: ssl.SSLContext | None = None,
) -> Iterator[Load]:
    """Send requests at a fixed rate until the block ends; then wait for the last answers."""
    dial = partial(_dialled, port, dial_seconds, tls)
    load, over = Load(time.monotonic()), threading.Event()

    def run() -> None:
        with ThreadPoolExecutor(64) as threads:
            for place in itertools.count():
                due = place / rate
                if due > _LONGEST_SECONDS or over.wait(max(0.0, due - load.now)):
                    return
                message = MESSAGES[place % len(MESSAGES)]
                threads.submit(_ask, load, due, dial, key, message, user)

    asking = threading.Thread(target=run)
    asking.start()
    try:
        yield load
    finally:
        over.set()
        asking.join()


def ask(port: int, key: str, message: str) -> Answer:
    """Send one request."""
    load = Load(time.monotonic())
    _ask(load, 0, partial(_dialled, port, DIAL_SECONDS), key, message)
    return load.answers[0]


def _ask(
    load: Load,
    due: float,
    dial: Callable[[], http.client.HTTPConnection],
    key: str,
    message: str,
    user: str = USER,
) -> None:
    try:
        status, body = _answered(dial(), key, message, user)
        told = json.loads(body)
        names = tuple(each["full_name"] for each in told.get("selected", ()))
        answer = Answer(
            *(due, load.now, message, status, names, str(told.get("turn_id", ""))),
            told="" if status == 200 else f"{status} {body[:300]}",
        )
    except ConnectionRefusedError:
        answer = Answer(due, load.now, message, 0, told=REFUSED)
    except (OSError, http.client.HTTPException, ValueError) as problem:
        answer = Answer(due, load.now, message, 0, told=repr(problem))
    load.answers.append(answer)


def _answered(
    connection: http.client.HTTPConnection, key: str, message: str, user: str
) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    try:
        body = json.dumps({"user": user, "message": message})
        connection.request("POST", "/api/v1/select", body, headers)
        response = connection.getresponse()
        if response.status == 503 and not response.headers["Retry-After"]:
            raise ValueError("503 without Retry-After")
        return response.status, response.read().decode()
    finally:
        connection.close()


def _dialled(
    port: int, seconds: float, tls: ssl.SSLContext | None = None
) -> http.client.HTTPConnection:
    """Connect, retrying until someone listens."""
    until = time.monotonic() + seconds
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_ANSWER_SECONDS)
        if tls is not None:  # the certificate of a proxy is chosen by the name
            connection = http.client.HTTPSConnection(
                "localhost", port, timeout=_ANSWER_SECONDS, context=tls
            )
        try:
            connection.connect()
        except ConnectionRefusedError:
            if time.monotonic() >= until:
                raise
            time.sleep(0.05)
        else:
            return connection
