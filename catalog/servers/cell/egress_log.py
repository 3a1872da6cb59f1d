"""Attempts of programs to reach hosts: logged at once, and counted for whoever stores them."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable

from catalog.servers.cell.allowed_hosts import written

logger = logging.getLogger("pegboard.egress")
_WAIT_SECONDS = 1.0
# Times by integration, host, and whether it was allowed.
Attempts = Counter[tuple[int, str, bool]]


class EgressLog:
    """Counts of attempts, given to `store` in a thread a moment later."""

    def __init__(self) -> None:
        self.store: Callable[[Attempts], None] = lambda attempts: None
        self._pending: Attempts = Counter()

    def note(self, integration: int, host: str, port: int, *, allowed: bool) -> None:
        """Record one attempt. Called on the event loop."""
        event = "A program reached %s:%s." if allowed else "A program was refused %s:%s."
        logger.info(event, host, port, extra={"integration": integration})
        if not integration:
            return
        if not self._pending:
            loop = asyncio.get_running_loop()
            loop.call_later(_WAIT_SECONDS, lambda: loop.run_in_executor(None, self.flush))
        self._pending[integration, written(host, port), allowed] += 1

    def flush(self) -> None:
        """Store the attempts since the last time."""
        attempts, self._pending = self._pending, Counter()
        if attempts:
            self.store(attempts)


egress_log = EgressLog()
