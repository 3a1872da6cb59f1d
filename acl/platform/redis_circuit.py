"""Calls to Redis, which may be down: each waits for its timeout at most, or not at all.

Redis holds copies only, which may be lost at any time. Django's cache, for one, holds what
django-allauth counts and the codes that were used. Wrong passwords and wrong codes are counted in
the database, so while Redis is away only the finer limits are lost.
"""

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from math import inf
from typing import Any, TypeVar

from django.conf import settings
from django.core.cache.backends.redis import RedisCache
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

# A circuit breaker. Pure: callers pass the time, and lock where threads share one.


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


Answer = TypeVar("Answer")


class RedisCircuit:
    """Calls Redis behind a circuit breaker that the threads of the process share."""

    def __init__(self, *, failures: int = 3, rest_seconds: float = 10) -> None:
        self._breaker = CircuitBreaker(failures, rest_seconds)
        self._lock = threading.Lock()

    def attempt(self, call: Callable[[Redis], Answer], *, default: Answer) -> Answer:
        """Return the answer of `call`, or `default` if Redis is down or was so a moment ago."""
        with self._lock:
            if not self._breaker.allows(time.monotonic()):
                return default
        try:
            answer = call(redis_client())
        except (RedisError, OSError):
            with self._lock:
                self._breaker.failed(time.monotonic())
            return default
        self.close()
        return answer

    @property
    def failing(self) -> bool:
        """Return True if the last call that was tried failed."""
        return self._breaker.is_failing

    def close(self) -> None:
        """Forget the failures, so that the next call is tried."""
        with self._lock:
            self._breaker.succeeded()


# One for the process, so that its parts share what they find out.
redis_circuit = RedisCircuit()
attempt = redis_circuit.attempt


def redis_client() -> Redis:
    """Return the process's client. A call waits PEGBOARD_REDIS_TIMEOUT_MS at most, once."""
    return _client(settings.REDIS_URL, settings.PEGBOARD_REDIS_TIMEOUT_MS / 1000)


@lru_cache(maxsize=4)
def _client(url: str, timeout: float) -> Redis:
    return Redis.from_url(
        url, socket_timeout=timeout, socket_connect_timeout=timeout, retry=Retry(NoBackoff(), 0)
    )


class JsonSerializer:
    """Values as JSON: reading a pickle would run whatever someone put into Redis."""

    def dumps(self, value: Any) -> bytes | int:
        """Leave integers as they are, so that Redis can count with them."""
        return value if type(value) is int else json.dumps(value).encode()

    def loads(self, text: bytes) -> Any:
        return json.loads(text)


class FailSafeCache(RedisCache):
    """Django's cache in Redis, which answers like an empty cache while Redis is down."""

    def add(self, *args: Any, **kwargs: Any) -> bool:
        """Return True while Redis is down: an empty cache would have added the value."""
        call = partial(super().add, *args, **kwargs)
        return attempt(lambda _: bool(call()), default=True)

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        call = partial(super().get, key, default=default, version=version)
        return attempt(lambda _: call(), default=default)

    def set(self, *args: Any, **kwargs: Any) -> None:
        call = partial(super().set, *args, **kwargs)
        attempt(lambda _: call(), default=None)

    def delete(self, *args: Any, **kwargs: Any) -> bool:
        call = partial(super().delete, *args, **kwargs)
        return attempt(lambda _: bool(call()), default=False)
