"""Exceptions for errors, which Pegboard sends as problem details (RFC 9457).

No message contains the key or anything of the request but its URL.
"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx


class PegboardError(Exception):
    """Base class of this client's exceptions."""


class NoAnswer(PegboardError):
    """Pegboard could not be reached or timed out. `__cause__` is httpx's exception."""


@dataclass(frozen=True)
class FieldError:
    """An invalid field of the request, with the reason."""

    field: str
    reason: str


class Problem(PegboardError):
    """Pegboard refused the request or failed."""

    def __init__(self, status: int, body: dict[str, Any], retry_after: float | None) -> None:
        self.status = status
        self.type: str = body.get("type") or "about:blank"
        self.title: str = body.get("title") or _phrase(status)
        self.detail: str = body.get("detail") or self.title
        self.field: str | None = body.get("field")
        self.errors = tuple(
            FieldError(error["field"], error["reason"]) for error in body.get("errors") or ()
        )
        self.request_id: str | None = body.get("request_id")
        self.retry_after = retry_after
        super().__init__(f"{status} {self.title}: {self.detail} (request {self.request_id})")


class InvalidInput(Problem):
    """400: a field is invalid or unknown."""


class NotAuthenticated(Problem):
    """401: the key is missing or invalid."""


class NotAllowed(Problem):
    """403: a scope is missing, or the key may not act for this caller."""


class NotFound(Problem):
    """404: it does not exist for this caller."""


class Conflict(Problem):
    """409: the resource is not in the state that the request assumes."""


class NotProcessable(Problem):
    """422: the idempotency key belongs to another call."""


class TooManyRequests(Problem):
    """429: retry after `retry_after` seconds."""


class Unavailable(Problem):
    """502, 503, 504: retry later."""


_KINDS: dict[int, type[Problem]] = {
    400: InvalidInput,
    401: NotAuthenticated,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    422: NotProcessable,
    429: TooManyRequests,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def problem_of(response: httpx.Response) -> Problem:
    """Build the exception for an error response, even if a proxy sent it."""
    try:
        body = response.json()
    except ValueError:
        body = {}
    wait = response.headers.get("Retry-After", "")
    kind = _KINDS.get(response.status_code, Problem)
    return kind(
        response.status_code,
        body if isinstance(body, dict) else {},
        float(wait) if wait.isdecimal() else None,
    )


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "No known status"
