"""Processes: heartbeats of workers and the schedule, and fewer garbage collections."""

import gc
import os
import time
from pathlib import Path
from typing import Any

from celery.signals import before_task_publish, heartbeat_sent

from acl.platform.redis_circuit import attempt

# Fewer garbage collections, in processes that answer requests.

_NEW_OBJECTS = 10_000  # before a collection of the youngest; Python's default is 700


def freeze_loaded_objects() -> None:
    """Exclude everything loaded so far from garbage collection. Call it once all is loaded."""
    # Models, routes and statements are 200,000 objects, and each collection delays a request.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, 20, 20)


# Heartbeats of workers and of the schedule, in Redis, and in a file for containers' health checks.
#
# Each task says when it was sent, so that the age of a queue is known.

KEY = "pegboard:worker"
CONNECTIONS_KEY = "pegboard:connections"
BEAT = "pegboard:beat"
CONNECTIONS = "servers@"  # how the process that keeps connections is named: it embeds nothing
SECONDS = 15  # Celery's own heartbeat is every two


@heartbeat_sent.connect(dispatch_uid="pegboard-heartbeat")  # type: ignore[untyped-decorator]
def note_heartbeat(sender: object = None, **_: object) -> None:
    """Tell whoever asks in the next seconds that this worker lives."""
    touch_alive_file()
    hostname = getattr(getattr(sender, "eventer", None), "hostname", None) or ""
    note_alive(CONNECTIONS_KEY if str(hostname).startswith(CONNECTIONS) else KEY)


def touch_alive_file() -> None:
    """Tell the container's health check that this process lives; one on standby does no more."""
    if file := os.environ.get("PEGBOARD_ALIVE_FILE"):
        Path(file).touch()


@before_task_publish.connect(dispatch_uid="pegboard-sent-at")  # type: ignore[untyped-decorator]
def _note_sending(headers: dict[str, Any] | None = None, **_: object) -> None:
    if headers is not None:
        headers.setdefault("sent_at", time.time())


def note_alive(key: str, *, seconds: int = SECONDS) -> None:
    """Tell whoever asks in the next seconds that a part lives."""
    attempt(lambda redis: redis.set(key, b"1", ex=seconds), default=None)


def was_alive(key: str) -> bool:
    """Return True if a part was alive recently. False if Redis is down."""
    return attempt(lambda redis: bool(redis.exists(key)), default=False)


def worker_lives() -> bool:
    """Return True if a worker was alive recently. False if Redis is down."""
    return was_alive(KEY)
