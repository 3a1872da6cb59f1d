"""Whether a request that failed is sent again, and after how long."""

import random
from dataclasses import dataclass
from typing import Any

import httpx

from pegboard_client.asking import Ask
from pegboard_client.problems import NoAnswer, PegboardError, TooManyRequests, Unavailable

# Nothing was sent yet: every request may be repeated.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True)
class Retries:
    """How often at most, and the pauses between: each twice the one before, with dice, so that
    clients that failed together do not come back together."""

    times: int = 2
    first_pause: float = 0.25
    longest_pause: float = 8.0

    def pause_after(self, error: PegboardError, ask: Ask[Any], tried: int) -> float | None:
        """Seconds to wait before the next attempt; None where there is none."""
        if tried > self.times or not _may_repeat(error, ask):
            return None
        told = getattr(error, "retry_after", None)
        if told is not None:
            return float(told) if told <= self.longest_pause else None
        pause = min(self.first_pause * 2.0 ** (tried - 1), self.longest_pause)
        return pause * random.uniform(0.5, 1)  # noqa: S311 (dice, no secret)


def _may_repeat(error: PegboardError, ask: Ask[Any]) -> bool:
    """What was refused for its number was not looked at. What may have arrived is repeated only
    where a second time changes nothing."""
    if isinstance(error, TooManyRequests):
        return True
    if isinstance(error, NoAnswer):
        return ask.repeatable or isinstance(error.__cause__, _NOT_SENT)
    return isinstance(error, Unavailable) and ask.repeatable
