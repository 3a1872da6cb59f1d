"""Redis, which may be away: a call costs at most its timeout, and after three failures nothing.

It talks to the server of REDIS_URL. What is kept there is a copy that may be lost at any time.
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

Answer = TypeVar("Answer")


class RedisCircuit:
    """Stops asking after `failures` in a row; once it has rested, one call tries again."""

    def __init__(self, *, failures: int = 3, rest_seconds: float = 10) -> None:
        self._most_failures = failures
        self._rest_seconds = rest_seconds
        self._failures = 0
        self._rests_until = 0.0
        self._lock = threading.Lock()

    def attempt(self, call: Callable[[Redis], Answer], *, default: Answer) -> Answer:
        """Return the result of `call`, or `default` if Redis is down, or was a moment ago."""
        if not self._may_try():
            return default
        try:
            answer = call(redis_client())
        except (RedisError, OSError):
            self._note_failure()
            return default
        self.close()
        return answer

    @property
    def failing(self) -> bool:
        """True if the last attempted call failed."""
        return self._failures > 0

    def close(self) -> None:
        """Forget the failures, so that the next call is tried."""
        with self._lock:
            self._failures = 0

    def _may_try(self) -> bool:
        with self._lock:
            if self._failures < self._most_failures:
                return True
            now = time.monotonic()
            if now < self._rests_until:
                return False
            self._rests_until = now + self._rest_seconds  # the others wait for this one's answer
            return True

    def _note_failure(self) -> None:
        with self._lock:
            self._failures += 1
            self._rests_until = time.monotonic() + self._rest_seconds


# One for the process: what one part has found out, the others need not.
redis_circuit = RedisCircuit()
attempt = redis_circuit.attempt


def redis_client() -> Redis:
    """The process's client; a call waits for PEGBOARD_REDIS_TIMEOUT_MS at the most, once."""
    return _client(settings.REDIS_URL, settings.PEGBOARD_REDIS_TIMEOUT_MS / 1000)


@lru_cache(maxsize=4)
def _client(url: str, timeout: float) -> Redis:
    return Redis.from_url(
        url, socket_timeout=timeout, socket_connect_timeout=timeout, retry=Retry(NoBackoff(), 0)
    )
