"""A minimal application for tests of gunicorn's shutdown."""

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from marketplace.operate.embedded.gunicorn_config import (
    graceful_timeout,
    post_request,
    threads,
    when_ready,
    worker_class,
    workers,
)

__all__ = [
    "application",
    "graceful_timeout",
    "post_request",
    "threads",
    "when_ready",
    "worker_class",
    "workers",
]


def application(
    environ: dict[str, Any], start_response: Callable[[str, list[tuple[str, str]]], object]
) -> Iterable[bytes]:
    """Work a few milliseconds, so that there is a queue; at /hold, wait until a file exists, and
    at /stream, too, in another thread's time; at /write, add a name to a file."""
    time.sleep(0.003)
    if environ["PATH_INFO"] == "/stream":
        start_response("200 OK", [("Content-Type", "text/event-stream")])
        return _stream(environ)
    while environ["PATH_INFO"] == "/hold" and not Path(str(environ["QUERY_STRING"])).exists():
        time.sleep(0.05)
    if environ["PATH_INFO"] == "/write":
        path, _, name = str(environ["QUERY_STRING"]).partition("&")
        with Path(path).open("a") as log:
            log.write(f"{name.removeprefix('user=')}\n")
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]


def _stream(environ: dict[str, Any]) -> Iterator[bytes]:
    with environ["pegboard.lend_thread"]():
        yield b": begun\n\n"
        while not Path(str(environ["QUERY_STRING"])).exists():
            time.sleep(0.05)
        yield b": done\n\n"
