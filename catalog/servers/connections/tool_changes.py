"""Syncs triggered by a server's change notifications, debounced.

Runs on the connections' event loop, so it never blocks and reads no database.
"""

import asyncio

from acl.platform.jobs.task_names import SYNC_INTEGRATION
from acl.platform.jobs.task_queue import send_now

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
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, send_now, SYNC_INTEGRATION, integration, cause)


schedule_sync = SyncDebouncer()
