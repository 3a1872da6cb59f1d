"""What goes wrong, as exceptions. Pegboard says it as RFC 9457 has it, and so do these.

No message has the key in it, nor anything else of what was sent but the address.
"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx


class PegboardError(Exception):
    """Anything that this client raises of its own."""


class NoAnswer(PegboardError):
    """Pegboard could not be reached, or did not answer in time. The cause is httpx's."""


@dataclass(frozen=True)
class FieldError:
    """A field of the request that is wrong, and why."""

    field: str
    reason: str


class Problem(PegboardError):
    """Pegboard refused, or failed."""

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
    """400: a field is wrong or unknown."""


class NotAuthenticated(Problem):
    """401: no valid key."""


class NotAllowed(Problem):
    """403: a scope is missing, or the caller is not one to act for."""


class NotFound(Problem):
    """404: there is no such thing for this caller."""


class Conflict(Problem):
    """409: it is not as the request takes it to be."""


class NotProcessable(Problem):
    """422: the idempotency key belongs to another call."""


class TooManyRequests(Problem):
    """429: `retry_after` says in how many seconds the next has a place."""


class Unavailable(Problem):
    """502, 503, 504: try again later."""


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
    """The exception for an answer that is no success, also where a proxy gave it."""
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
