"""Limits on waiting for a call."""

import time
from collections.abc import Callable, Mapping

from pegboard_client.answers import CallStatus

# The longest wait of one request, so that proxies do not time out first.
LONGEST_WAIT = 20.0


class WaitLimits:
    """Limits in seconds for each status that a call may wait in, from when it entered it."""

    def __init__(
        self, limits: Mapping[CallStatus, float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limits, self._clock = limits, clock
        self._status: CallStatus | None = None
        self._since = 0.0

    def next_wait(self, status: CallStatus) -> float:
        """Return how long the next request may wait; 0 if the call ended or the time is up."""
        now = self._clock()
        if status != self._status:
            self._status, self._since = status, now
        left = self._limits.get(status, 0.0) - (now - self._since)
        return min(max(left, 0.0), LONGEST_WAIT)
