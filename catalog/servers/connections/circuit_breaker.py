"""When a server is left alone: pure, and told the time."""

import random
from collections import deque
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Policy:
    """How one server is treated; tests shorten the times."""

    idle_seconds: float = 300.0
    # Calls of one server that run at once, and how long another waits for its turn.
    at_once: int = 8
    turn_seconds: float = 2.0
    # So many failures within so many seconds, and it rests.
    failures: int = 5
    within_seconds: float = 30.0
    rest_seconds: float = 30.0
    # Between attempts to connect: twice as long each time, up to a limit.
    first_pause: float = 0.5
    longest_pause: float = 60.0
    # Connections of one process, all servers together.
    connections: int = 50


@dataclass(slots=True)
class Breaker:
    """Opens after several failures in a short time; after a rest it lets one call try."""

    policy: Policy
    _failures: deque[float] = field(default_factory=deque)
    _closed_until: float | None = None

    def allows(self, now: float) -> bool:
        """Whether to try. After the rest, one may; the others rest on until it is known how."""
        if self._closed_until is None:
            return True
        if now < self._closed_until:
            return False
        self._closed_until = now + self.policy.rest_seconds
        return True

    def failed(self, now: float) -> None:
        """Count a failure."""
        self._failures.append(now)
        while self._failures[0] < now - self.policy.within_seconds:
            self._failures.popleft()
        if len(self._failures) >= self.policy.failures:
            self._closed_until = now + self.policy.rest_seconds

    def succeeded(self) -> None:
        """All is well again."""
        self._failures.clear()
        self._closed_until = None

    @property
    def is_resting(self) -> bool:
        """Whether it has opened and nothing has gone well since."""
        return self._closed_until is not None


@dataclass(slots=True)
class BackOff:
    """How long to wait before connecting once more."""

    policy: Policy
    _attempts: int = 0
    _not_before: float = 0.0

    def allows(self, now: float) -> bool:
        """Whether to connect now."""
        return now >= self._not_before

    def failed(self, now: float) -> None:
        """Wait longer than the last time; not all servers of a lost network at the same moment."""
        pause = min(self.policy.longest_pause, self.policy.first_pause * 2.0**self._attempts)
        self._attempts = min(self._attempts + 1, 20)
        self._not_before = now + pause * random.uniform(0.5, 1.0)  # noqa: S311 - no secret

    def succeeded(self) -> None:
        """Start anew."""
        self._attempts, self._not_before = 0, 0.0
