"""Syncs triggered by a server's change notifications, debounced.

Runs on the connections' event loop, so it never blocks and reads no database.
"""

import asyncio

import structlog
from celery import current_app
from kombu.exceptions import KombuError

from acl.platform.redis_circuit import attempt

log = structlog.get_logger(__name__)
TASK = "servers.sync_integration"
# A server that changes a dozen tools sends a dozen notifications.
WAIT_SECONDS = 2.0


class SyncDebouncer:
    """A debouncer: one sync for all notifications within a moment.

    Notifications that arrive after it was sent start the next one.
    """

    def __init__(self, wait_seconds: float = WAIT_SECONDS) -> None:
        self._wait_seconds = wait_seconds
        self._scheduled: set[int] = set()

    def __call__(self, key: str, cause: str = "announced") -> None:
        """Schedule a sync of a connection's server."""
        integration = int(key.split("/")[0])
        if integration in self._scheduled:
            return
        self._scheduled.add(integration)
        asyncio.get_running_loop().call_later(self._wait_seconds, self._send, integration, cause)

    def _send(self, integration: int, cause: str) -> None:
        self._scheduled.discard(integration)
        asyncio.get_running_loop().run_in_executor(None, send_sync, integration, cause)


def send_sync(integration: int, cause: str) -> None:
    """Enqueue a sync. If the queue is down, the schedule does it later."""
    if not attempt(lambda redis: bool(redis.ping()), default=False):
        return
    try:
        current_app.send_task(TASK, [integration, cause])
    except (KombuError, OSError):
        log.warning("queue unavailable", integration=integration, exc_info=True)


schedule_sync = SyncDebouncer()
