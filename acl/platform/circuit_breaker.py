"""A circuit breaker. Pure: callers pass the time, and lock where threads share one."""

from collections import deque
from dataclasses import dataclass, field
from math import inf


@dataclass(slots=True)
class CircuitBreaker:
    """Opens after `failures` failures, and lets one call try after a rest.

    Only failures of the last `within_seconds` count, and a success clears them.
    """

    failures: int
    rest_seconds: float
    within_seconds: float = inf
    _failed_at: deque[float] = field(default_factory=deque)
    _open_until: float | None = None

    def allows(self, now: float) -> bool:
        """Return True if a call may try."""
        if self._open_until is None:
            return True
        if now < self._open_until:
            return False
        self._open_until = now + self.rest_seconds  # the other calls wait for this one's outcome
        return True

    def failed(self, now: float) -> None:
        """Record a failure."""
        self._failed_at.append(now)
        while len(self._failed_at) > self.failures or self._is_old(self._failed_at[0], now):
            self._failed_at.popleft()
        if len(self._failed_at) == self.failures:
            self._open_until = now + self.rest_seconds

    def succeeded(self) -> None:
        """Close the circuit."""
        self._failed_at.clear()
        self._open_until = None

    def _is_old(self, moment: float, now: float) -> bool:
        return moment < now - self.within_seconds

    @property
    def is_failing(self) -> bool:
        """Return True from a failure until the next success."""
        return bool(self._failed_at)

    @property
    def is_open(self) -> bool:
        """Return True from opening until the next success."""
        return self._open_until is not None
