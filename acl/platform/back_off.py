"""Pauses after failures: each twice as long as the last one, up to the longest."""

import random
from dataclasses import dataclass


@dataclass(slots=True)
class BackOff:
    """Pause that failures in a row have come to. Callers pass the time."""

    first: float = 1.0
    longest: float = 60.0
    jitter: float = 0.0  # the part of a pause that chance may take off
    failures: int = 0
    until: float = 0.0

    @property
    def pause(self) -> float:
        """Return the pause after the failures so far; without one there is none."""
        doubled = self.first * 2.0 ** min(self.failures - 1, 60)
        return min(self.longest, doubled) if self.failures else 0.0

    def allows(self, now: float) -> bool:
        """Return True if the pause is over."""
        return now >= self.until

    def failed(self, now: float) -> None:
        """Double the pause, and begin it. Jitter keeps many from trying again at once."""
        self.failures += 1
        self.until = now + self.pause * random.uniform(1 - self.jitter, 1)  # noqa: S311 - no secret

    def succeeded(self) -> None:
        """End the pause; the next one is the first again."""
        self.failures, self.until = 0, 0.0
