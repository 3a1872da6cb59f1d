"""Retry policy of failed requests."""

import random
from dataclasses import dataclass
from typing import Any

import httpx

from pegboard_client.api_request import ApiRequest
from pegboard_client.problems import NoAnswer, PegboardError, TooManyRequests, Unavailable

# Failures before anything was sent, after which any request may be retried.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True)
class Retries:
    """Number of retries and the pauses between them: exponential backoff with jitter, so that
    clients that failed together do not retry together."""

    times: int = 2
    first_pause: float = 0.25
    longest_pause: float = 8.0

    def pause_after(
        self, error: PegboardError, request: ApiRequest[Any], attempts: int
    ) -> float | None:
        """Return the seconds to wait before a retry; None if there is none."""
        if attempts > self.times or not _may_repeat(error, request):
            return None
        retry_after = getattr(error, "retry_after", None)
        if retry_after is not None:
            return float(retry_after) if retry_after <= self.longest_pause else None
        pause = min(self.first_pause * 2.0 ** (attempts - 1), self.longest_pause)
        return pause * random.uniform(0.5, 1)  # noqa: S311 (dice, no secret)


def _may_repeat(error: PegboardError, request: ApiRequest[Any]) -> bool:
    """Return True if a retry is safe: the request was rejected unread, or may be repeated."""
    if isinstance(error, TooManyRequests):
        return True
    if isinstance(error, NoAnswer):
        return request.repeatable or isinstance(error.__cause__, _NOT_SENT)
    return isinstance(error, Unavailable) and request.repeatable
