"""Limits per server: Pegboard's own, and those that it tells by a 429 or a 503. Pure: callers pass
the time."""

from dataclasses import dataclass, field

from catalog.servers.client.server_problems import (
    LIMITS,
    Reason,
    ServerProblemError,
    StillLimitedError,
    limited,
)
from catalog.servers.client.targets import Server


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
    # After a 429 or 503: how long at most, whatever `Retry-After` says, and where it says nothing.
    longest_limit: float = 300.0
    unsaid_limit: float = 0.5
    # Connections of one process, for all servers together.
    connections: int = 50


@dataclass(frozen=True, slots=True)
class _Limit:
    server: Server
    until: float
    reason: Reason
    is_said: bool


@dataclass(slots=True)
class RateLimits:
    """Limits that servers told by a 429, or a 503 with an end, each for the credential that met it.

    Of an API it is that operation's: most count each apart. Another credential, also a new one of
    the same person, is another target, and never waits.
    """

    policy: Policy
    _limits: dict[tuple[str, str], _Limit] = field(default_factory=dict)

    def check(self, whose: str, operation: str, server: Server, now: float) -> float:
        """Return the seconds to wait before a request; raise if the server said when it may be.

        Where it said no time, there is nothing to tell: the request waits that moment.
        """
        limit = self._limits.get((whose, operation))
        if limit is None or limit.server != server or now >= limit.until:
            return 0.0
        if limit.is_said:
            raise limited(limit.reason, limit.until - now, StillLimitedError)
        return limit.until - now

    def note(
        self, whose: str, operation: str, server: Server, problem: ServerProblemError, now: float
    ) -> None:
        """Remember a limit that a request met."""
        if problem.reason not in LIMITS:
            return
        said = problem.retry_after
        wait = self.policy.unsaid_limit if said is None else said
        until = now + min(wait, self.policy.longest_limit)
        self._limits = {key: limit for key, limit in self._limits.items() if limit.until > now}
        self._limits[whose, operation] = _Limit(server, until, problem.reason, said is not None)

    def forget(self, whose: str) -> None:
        """Forget the limits of a credential."""
        self._limits = {key: limit for key, limit in self._limits.items() if key[0] != whose}
