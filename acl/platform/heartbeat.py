"""Heartbeat of workers, in Redis, and in a file for the container's health check."""

import os
from pathlib import Path

from celery.signals import heartbeat_sent

from acl.platform.redis_circuit import attempt

KEY = "pegboard:worker"
CONNECTIONS = "servers@"  # how the process that keeps connections is named: it embeds nothing
SECONDS = 15  # Celery's own heartbeat is every two


@heartbeat_sent.connect(dispatch_uid="pegboard-heartbeat")  # type: ignore[untyped-decorator]
def note_heartbeat(sender: object = None, **_: object) -> None:
    """Tell whoever asks in the next seconds that this worker lives."""
    if file := os.environ.get("PEGBOARD_ALIVE_FILE"):
        Path(file).touch()
    hostname = getattr(getattr(sender, "eventer", None), "hostname", None) or ""
    if str(hostname).startswith(CONNECTIONS):
        return
    attempt(lambda redis: redis.set(KEY, b"1", ex=SECONDS), default=None)


def worker_lives() -> bool:
    """Return True if a worker was alive recently. False if Redis is down."""
    return attempt(lambda redis: bool(redis.exists(KEY)), default=False)
