"""Counts of the last minute, in Redis, and in this process for when Redis is down.

It talks to Redis through `redis_circuit` and sends only names of counters: ids of keys and people,
and addresses.
"""

import time
from functools import partial
from math import ceil
from threading import Lock

from django.conf import settings
from redis import Redis

from acl.platform.redis_circuit import attempt

WINDOW = 60  # seconds
MOST_COUNTED = 100_000  # callers that one process remembers; whoever comes later shares a counter
OTHERS = "others"


class LocalCounts:
    """Counts in this process.

    They run beside those in Redis, so that nobody starts at zero when Redis goes down.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._window = 0
        self._now: dict[str, int] = {}
        self._before: dict[str, int] = {}

    def add(self, who: str, window: int, amount: int = 1) -> tuple[int, int]:
        """Add to the count of `who`; return it for the previous window and for this one."""
        with self._lock:
            if window != self._window:
                self._before = self._now if window == self._window + 1 else {}
                self._now, self._window = {}, window
            who = self._counter_of(who)
            self._now[who] = self._now.get(who, 0) + amount
            return self._before.get(who, 0), self._now[who]

    def take_back(self, who: str) -> None:
        """Remove a refused request from the count: else a slightly fast client would starve."""
        with self._lock:
            who = self._counter_of(who)
            self._now[who] = max(0, self._now.get(who, 1) - 1)

    def _counter_of(self, who: str) -> str:
        """Return the counter's name; latecomers share one, which bounds the memory."""
        return who if who in self._now or len(self._now) < MOST_COUNTED else OTHERS


_local = LocalCounts()


def seconds_over(who: str, limit: int) -> float:
    """Count one for `who`: 0 while they are within `limit` a minute, else how long to wait.

    The minute slides: it has this window's count, and the share of the last that still counts.
    """
    seconds = time.time()
    window, share = int(seconds // WINDOW), (seconds % WINDOW) / WINDOW
    local = _local.add(who, window)
    shared = attempt(partial(_add, who, window), default=None)
    if shared is None:
        limit = _share_of(limit)
    before, now = shared or local
    if before * (1 - share) + now <= limit:
        return 0
    _local.take_back(who)
    if shared:
        attempt(lambda redis: redis.decr(_name(who, window)), default=0)
    return _seconds_to_wait(before, now, share, limit)


_spent = LocalCounts()
# What Redis has not been told yet: with the next request of the same payer, so that a request costs
# one more round trip and not two.
_untold: dict[str, int] = {}
_untold_lock = Lock()


def charge(payer: str, amount: int) -> None:
    """Add what a request has cost, in microseconds of CPU time."""
    _spent.add(payer, int(time.time() // WINDOW), amount)
    with _untold_lock:
        if payer in _untold or len(_untold) < MOST_COUNTED:
            _untold[payer] = _untold.get(payer, 0) + amount


def seconds_over_budget(payer: str, limit: int) -> tuple[int, float]:
    """Return what `payer` has used in the last minute, and how long to wait: 0 within `limit`."""
    seconds = time.time()
    window, share = int(seconds // WINDOW), (seconds % WINDOW) / WINDOW
    with _untold_lock:
        amount = _untold.pop(payer, 0)
    local = _spent.add(payer, window, 0)
    shared = attempt(partial(_add, f"cpu:{payer}", window, amount=amount), default=None)
    if shared is None:
        limit = _share_of(limit)
    before, now = shared or local
    used = int(before * (1 - share) + now)
    return used, _seconds_to_wait(before, now, share, limit) if used > limit else 0


def _share_of(limit: int) -> int:
    """Return the share of one process.

    Together all processes stay within twice the limit, and a client that always meets the same
    process still gets some requests.
    """
    return min(limit, ceil(2 * limit / max(1, settings.WEB_PROCESSES)))


def _name(who: str, window: int) -> str:
    return f"pegboard:rate:{who}:{window}"


def _add(who: str, window: int, redis: Redis, amount: int = 1) -> tuple[int, int]:
    pipeline = redis.pipeline(transaction=False)
    pipeline.get(_name(who, window - 1))
    pipeline.incrby(_name(who, window), amount)
    pipeline.expire(_name(who, window), 2 * WINDOW)
    before, now, _ = pipeline.execute()
    return int(before or 0), int(now)


def _seconds_to_wait(before: int, now: int, share: float, limit: int) -> float:
    remaining = WINDOW * (1 - share)
    if now > limit or not before:
        return max(1.0, remaining)
    needed = 1 - max(0, limit - now) / before
    return max(1.0, (needed - share) * WINDOW)
