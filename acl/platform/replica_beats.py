"""Beats of this process: numbers that it counts up on the primary, and the moment before each.

A replica that shows a number also shows everything that was committed before that moment, since it
replays commits in their order. Moments are of this machine's clock alone, so no two machines'
clocks are compared.
"""

import time
from math import inf
from threading import Lock
from uuid import UUID, uuid4

# Time asleep counts, too. Only Linux leaves it out of its other steady clock.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def clock() -> float:
    """Return seconds since the start of the machine."""
    return time.clock_gettime(_CLOCK)


class Beats:
    """Numbers, none of which is given twice: after a failover the primary may have lost some."""

    def __init__(self) -> None:
        self.process: UUID = uuid4()
        self._number = 0
        self._tried_at = -inf
        self._began: dict[int, float] = {}
        self._lock = Lock()

    def begin(self, now: float, *, every: float) -> int | None:
        """Return the number to write, or None where one was begun within `every` seconds.

        It is remembered before it is written. One whose write fails is never seen.
        """
        with self._lock:
            if now - self._tried_at < every:
                return None
            self._tried_at = now
            self._number += 1
            self._began[self._number] = now
            return self._number

    def first_since(self, moment: float) -> int | None:
        """Return the first number that was begun since `moment`, and forget those before."""
        with self._lock:
            self._began = {number: at for number, at in self._began.items() if at >= moment}
            return min(self._began, default=None)

    def age(self, number: int, now: float) -> float:
        """Return the seconds since a number was begun; infinite if it was forgotten."""
        with self._lock:
            return now - self._began.get(number, -inf)
