"""How long a call is waited for."""

import time
from collections.abc import Callable, Mapping

from pegboard_client.answers import CallStatus

# Pegboard answers after at most so many seconds, so that no proxy between gives up before.
LONGEST_LOOK = 20.0


class Patience:
    """So many seconds for each status that a call may wait in, counted from when it began."""

    def __init__(
        self, limits: Mapping[CallStatus, float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limits, self._clock = limits, clock
        self._status: CallStatus | None = None
        self._since = 0.0

    def next_look(self, status: CallStatus) -> float:
        """How long the next request may wait; 0 where there is none: it ended, or time is up."""
        now = self._clock()
        if status != self._status:
            self._status, self._since = status, now
        left = self._limits.get(status, 0.0) - (now - self._since)
        return min(max(left, 0.0), LONGEST_LOOK)
