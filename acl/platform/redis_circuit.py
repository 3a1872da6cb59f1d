"""Calls to Redis, which may be down: each waits for its timeout at most, or not at all.

Redis holds copies only, which may be lost at any time.
"""

import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from django.conf import settings
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from acl.platform.circuit_breaker import CircuitBreaker

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
