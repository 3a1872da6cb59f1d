"""A short pause of everything that asks the database, as when another one takes its place.

Whoever pauses says so in Redis, where every web process looks a few times a second. Requests that
come meanwhile wait, and none of them fails. Where Redis is away nobody waits: requests get a 503
with Retry-After for as long as the database is gone.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.http import HttpRequest, HttpResponse

from acl.platform.redis_circuit import attempt

LOOK_SECONDS = 0.25  # so much later, at the most, every process knows
_KEY = "pegboard:paused"
_LONGEST_SECONDS = 60  # whoever pauses may die of it
_POLL_SECONDS = 0.05
_PROBES = frozenset({"/healthz", "/livez", "/readyz", "/metrics"})


@contextmanager
def paused() -> Iterator[bool]:
    """Let new requests wait; whether they do."""
    told = attempt(lambda redis: bool(redis.set(_KEY, b"1", ex=_LONGEST_SECONDS)), default=False)
    try:
        yield told
    finally:
        attempt(lambda redis: redis.delete(_KEY), default=None)


class PauseMiddleware:
    """Holds a request while there is a pause; probes are answered always."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response
        self._looked_at = float("-inf")

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path not in _PROBES:
            self._wait()
        return self._get_response(request)

    def _wait(self) -> None:
        if time.monotonic() < self._looked_at + LOOK_SECONDS:
            return
        until = time.monotonic() + _LONGEST_SECONDS
        while _is_paused() and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)
        self._looked_at = time.monotonic()


def _is_paused() -> bool:
    return attempt(lambda redis: bool(redis.exists(_KEY)), default=False)
