"""A short pause of all requests, for example while databases are swapped.

A flag in Redis starts the pause; every web process polls it a few times a second. Requests that
arrive meanwhile wait instead of failing. Without Redis nothing waits: requests get a 503 with
Retry-After for as long as the database is gone.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.http import HttpRequest, HttpResponse

from acl.platform.redis_circuit import attempt

CHECK_INTERVAL_SECONDS = 0.25  # delay until every process has seen a pause
_KEY = "pegboard:paused"
_LONGEST_SECONDS = 60  # expiry, in case the pausing process dies
_POLL_SECONDS = 0.05
_PROBES = frozenset({"/healthz", "/livez", "/readyz", "/metrics"})


@contextmanager
def pause_requests() -> Iterator[bool]:
    """Pause new requests; yield False if Redis is unavailable and nothing waits."""
    is_pausing = attempt(
        lambda redis: bool(redis.set(_KEY, b"1", ex=_LONGEST_SECONDS)), default=False
    )
    try:
        yield is_pausing
    finally:
        attempt(lambda redis: redis.delete(_KEY), default=None)


class PauseMiddleware:
    """Holds requests back during a pause, except probes."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response
        self._checked_at = float("-inf")

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path not in _PROBES:
            self._wait()
        return self._get_response(request)

    def _wait(self) -> None:
        if time.monotonic() < self._checked_at + CHECK_INTERVAL_SECONDS:
            return
        until = time.monotonic() + _LONGEST_SECONDS
        while (
            attempt(lambda redis: bool(redis.exists(_KEY)), default=False)
            and time.monotonic() < until
        ):
            time.sleep(_POLL_SECONDS)
        self._checked_at = time.monotonic()
