"""Limits per server, and the back-off between attempts to connect. Pure: callers pass the time."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """Timeouts and limits per server; tests shorten the times."""

    idle_seconds: float = 300.0
    # Concurrent calls per server. Further calls wait for their turn, first come first served, as
    # long as the call may take; tests shorten that. Beyond so many that wait, a call is refused.
    at_once: int = 8
    turn_seconds: float | None = None
    waiting: int = 200
    # This many failures within this many seconds open the circuit.
    failures: int = 5
    within_seconds: float = 30.0
    rest_seconds: float = 30.0
    # Exponential back-off between attempts to connect.
    first_pause: float = 0.5
    longest_pause: float = 60.0
    # Connections of one process, for all servers together.
    connections: int = 50


@dataclass(slots=True)
class BackOff:
    """Exponential back-off between attempts to connect."""

    policy: Policy
    _attempts: int = 0
    _not_before: float = 0.0

    def allows(self, now: float) -> bool:
        """Return True if an attempt to connect is due."""
        return now >= self._not_before

    def failed(self, now: float) -> None:
        """Double the pause. Jitter keeps servers of a lost network from reconnecting at once."""
        pause = min(self.policy.longest_pause, self.policy.first_pause * 2.0**self._attempts)
        self._attempts = min(self._attempts + 1, 20)
        self._not_before = now + pause * random.uniform(0.5, 1.0)  # noqa: S311 - no secret

    def succeeded(self) -> None:
        """Reset the pause."""
        self._attempts, self._not_before = 0, 0.0
