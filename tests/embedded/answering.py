"""A minimal application for tests of gunicorn's shutdown."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from marketplace.operate.embedded.gunicorn_config import (
    graceful_timeout,
    threads,
    when_ready,
    worker_class,
    workers,
)

__all__ = ["application", "graceful_timeout", "threads", "when_ready", "worker_class", "workers"]


def application(
    environ: dict[str, object], start_response: Callable[[str, list[tuple[str, str]]], object]
) -> Iterable[bytes]:
    """Work a few milliseconds, so that there is a queue; at /hold, wait until a file exists."""
    time.sleep(0.003)
    while environ["PATH_INFO"] == "/hold" and not Path(str(environ["QUERY_STRING"])).exists():
        time.sleep(0.05)
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
