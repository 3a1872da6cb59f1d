"""Refusals that several APIs share, by their status; `problems.py` gives them their `type`."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rest_framework import exceptions

# From a service's exception to the API's.
Refusals = Mapping[type[Exception], Callable[[Any], exceptions.APIException]]


class Conflict(exceptions.APIException):
    """HTTP 409: the resource is not in the state that the request expects."""

    status_code = 409


class Unprocessable(exceptions.APIException):
    """HTTP 422: the request contradicts an earlier one, or is not allowed."""

    status_code = 422


class QueueFull(exceptions.APIException):
    """HTTP 429: the person has as many pending calls as allowed."""

    status_code = 429


class QuotaUsedUp(exceptions.Throttled):
    """HTTP 429 with Retry-After: a quota of the day is used up."""

    def __init__(self, seconds: int, detail: str) -> None:
        exceptions.APIException.__init__(self, detail)
        self.wait = seconds


@contextmanager
def refusals_as_problems(refusals: Refusals) -> Iterator[None]:
    """Translate what a service refuses to an HTTP error, by the nearest class in the table."""
    try:
        yield
    except tuple(refusals) as refusal:
        kind = next(one for one in type(refusal).__mro__ if one in refusals)
        raise refusals[kind](refusal) from refusal
