"""Request ids: in every log line, problem and response header, with one log line per request."""

import re
import time
import uuid
from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse

from acl.actor.request_context import request_context
from acl.platform.client_address import client_address

HEADER = "X-Request-ID"
logger = structlog.get_logger(__name__)
_LETS_IN = {"raw", "uidb36", "key"}  # arguments of addresses
_GIVEN = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestIdMiddleware:
    """Uses a harmless id from a proxy or client, or creates one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get(HEADER, "")
        request_id = given if _GIVEN.fullmatch(given) else uuid.uuid4().hex
        started = time.perf_counter()
        with (
            structlog.contextvars.bound_contextvars(request_id=request_id),
            request_context(
                request_id=request_id,
                address=client_address(request),
                person=lambda: getattr(request, "user", None),
            ),
        ):
            response = self._get_response(request)
            logger.info(
                "request",
                method=request.method,
                path=_redacted_path(request),
                status=response.status_code,
                milliseconds=round((time.perf_counter() - started) * 1000, 1),
            )
        response[HEADER] = request_id
        return response


def _redacted_path(request: HttpRequest) -> str:
    """Return the path without secrets, and without the query, which may hold private text.

    Links of invitations, password resets and address confirmations let in whoever has them.
    """
    match, path = request.resolver_match, request.path
    for name, value in (match.kwargs if match else {}).items():
        if name in _LETS_IN:
            path = path.replace(str(value), "…")
    return path


def current_request_id() -> str:
    """Return the id of the current request, or ""."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))
