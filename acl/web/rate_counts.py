"""Counts of the last minute, in Redis, and in this process for when Redis is down.

It talks to Redis through `redis_circuit` and sends only names of counters: ids of keys and people,
and addresses.
"""

import time
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from threading import Lock

from cachetools import LRUCache
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


class SharedCounts:
    """Counts in Redis, of all processes, as far as this one knows them.

    Far below a limit a count is told to Redis once a second and not at each request, which
    would cost as much as reading a key. Near the limit it is told and read each time.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._lock = Lock()
        self._seen: LRUCache[str, _Seen] = LRUCache(MOST_COUNTED)

    def add(self, who: str, window: int, amount: int, *, limit: int) -> tuple[int, int] | None:
        """Add to the count of `who`; return it for the previous window and for this one, or None
        without Redis."""
        with self._lock:
            count = self._seen.get(who)
            if count and count.window == window and count.is_recent:
                count.untold += amount
                if count.before + count.now + count.untold <= limit * _FAR_BELOW:
                    return count.before, count.now + count.untold
                amount, count.untold = count.untold, 0
            elif count and count.window == window:
                amount, count.untold = amount + count.untold, 0
        counts = attempt(partial(_add, self._prefix + who, window, amount=amount), default=None)
        with self._lock:
            # What other threads have added meanwhile is told with the next.
            before = self._seen.pop(who, None)
            if counts:
                untold = before.untold if before and before.window == window else 0
                self._seen[who] = _Seen(window, *counts, untold)
        return counts

    def take_back(self, who: str, window: int) -> None:
        """Remove a refused request from the count."""
        attempt(lambda redis: redis.decr(_name(self._prefix + who, window)), default=0)

    def clear(self) -> None:
        """Forget what this process knows."""
        with self._lock:
            self._seen.clear()


# A count is told to Redis this often, and read each time above this share of the limit.
_TOLD_EACH, _FAR_BELOW = 1.0, 0.8


@dataclass(slots=True)
class _Seen:
    """A count as Redis told it, and what was added since."""

    window: int
    before: int
    now: int
    untold: int = 0
    at: float = field(default_factory=time.monotonic)

    @property
    def is_recent(self) -> bool:
        return time.monotonic() - self.at < _TOLD_EACH


_local, _shared = LocalCounts(), SharedCounts()


def seconds_over(who: str, limit: int) -> float:
    """Count one for `who`: 0 while they are within `limit` a minute, else how long to wait.

    The minute slides: it has this window's count, and the share of the last that still counts.
    """
    seconds = time.time()
    window, share = int(seconds // WINDOW), (seconds % WINDOW) / WINDOW
    local = _local.add(who, window)
    shared = _shared.add(who, window, 1, limit=limit)
    if shared is None:
        limit = _share_of(limit)
    before, now = shared or local
    if before * (1 - share) + now <= limit:
        return 0
    _local.take_back(who)
    if shared:
        _shared.take_back(who, window)
    return _seconds_to_wait(before, now, share, limit)


_spent, _shared_spent = LocalCounts(), SharedCounts("cpu:")
# What a request has cost is counted with the payer's next one.
_unpaid: dict[str, int] = {}
_unpaid_lock = Lock()


def charge(payer: str, amount: int) -> None:
    """Add what a request has cost, in microseconds of CPU time."""
    _spent.add(payer, int(time.time() // WINDOW), amount)
    with _unpaid_lock:
        if payer in _unpaid or len(_unpaid) < MOST_COUNTED:
            _unpaid[payer] = _unpaid.get(payer, 0) + amount


def seconds_over_budget(payer: str, limit: int) -> tuple[int, float]:
    """Return what `payer` has used in the last minute, and how long to wait: 0 within `limit`."""
    seconds = time.time()
    window, share = int(seconds // WINDOW), (seconds % WINDOW) / WINDOW
    with _unpaid_lock:
        amount = _unpaid.pop(payer, 0)
    local = _spent.add(payer, window, 0)
    shared = _shared_spent.add(payer, window, amount, limit=limit)
    if shared is None:
        limit = _share_of(limit)
    before, now = shared or local
    used = int(before * (1 - share) + now)
    return used, _seconds_to_wait(before, now, share, limit) if used > limit else 0


def forget_counts() -> None:
    """Start anew, as a new process does."""
    for counts in (_shared, _shared_spent):
        counts.clear()
    _unpaid.clear()


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
