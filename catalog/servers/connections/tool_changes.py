"""When a server says that its tools have changed, they are read: soon, and once for many words.

Runs on the loop of the connections, so it waits for nothing and asks no database.
"""

import asyncio

import structlog
from celery import current_app
from kombu.exceptions import KombuError

from acl.platform.redis_circuit import attempt

log = structlog.get_logger(__name__)
TASK = "servers.sync_integration"
# A server that changes a dozen tools says so a dozen times.
WAIT_SECONDS = 2.0


class Announcements:
    """Sends one reading for all that a server says within a moment. What it says while that is
    on its way is the next moment's."""

    def __init__(self, wait_seconds: float = WAIT_SECONDS) -> None:
        self._wait_seconds = wait_seconds
        self._waiting: set[int] = set()

    def __call__(self, key: str, cause: str = "announced") -> None:
        """Note that a connection's server has said so."""
        integration = int(key.split("/")[0])
        if integration in self._waiting:
            return
        self._waiting.add(integration)
        asyncio.get_running_loop().call_later(self._wait_seconds, self._send, integration, cause)

    def _send(self, integration: int, cause: str) -> None:
        self._waiting.discard(integration)
        asyncio.get_running_loop().run_in_executor(None, send_sync, integration, cause)


def send_sync(integration: int, cause: str) -> None:
    """Ask for a reading. Where the queue is away, the schedule asks later."""
    if not attempt(lambda redis: bool(redis.ping()), default=False):
        return
    try:
        current_app.send_task(TASK, [integration, cause])
    except (KombuError, OSError):
        log.warning("queue is away", integration=integration, exc_info=True)


announcements = Announcements()
