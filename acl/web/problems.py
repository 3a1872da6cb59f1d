"""Errors as problem documents (RFC 9457): what happened, where, and in which request."""

import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import ceil
from typing import Any

import structlog
from django.core.exceptions import (
    ObjectDoesNotExist,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.db import DataError, IntegrityError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from acl.actor import current_context, request_context
from acl.keys.lifecycle import KeyRefused
from acl.platform.answer_model import FieldRefused
from acl.platform.client_address import client_address
from acl.platform.database_work import NO_ROOM, WORDS, lacks_room, note_missing_room
from acl.platform.database_work import SECONDS_TO_RETRY as SECONDS_UNTIL_ROOM
from acl.rights.caller_lookup import CallerAmbiguous, CallerMissing, CallerRefused
from acl.rights.delegation import DelegationRefused
from acl.web._rate_limits import check_stranger

# Request ids: in every log line, problem and response header, with one log line per request.

HEADER = "X-Request-ID"
_LETS_IN = {"raw", "uidb36", "key"}  # arguments of addresses
_GIVEN = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestIdMiddleware:
    """Uses a harmless id from a proxy or client, or creates one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        sent_id = request.headers.get(HEADER, "")
        request_id = sent_id if _GIVEN.fullmatch(sent_id) else uuid.uuid4().hex
        started = time.perf_counter()
        with request_context(
            request_id=request_id,
            address=client_address(request),
            person=lambda: getattr(request, "user", None),
        ):
            response = self._get_response(request)
            # The path without secrets, and without the query, which may hold private text. Links of
            # invitations, password resets and address confirmations let in whoever has them.
            match, path = request.resolver_match, request.path
            for name, value in (match.kwargs if match else {}).items():
                if name in _LETS_IN:
                    path = path.replace(str(value), "…")
            logger.info(
                "request",
                method=request.method,
                path=path,
                status=response.status_code,
                milliseconds=round((time.perf_counter() - started) * 1000, 1),
            )
        response[HEADER] = request_id
        return response


def current_request_id() -> str:
    """Return the id of the current request, or ""."""
    return current_context().request_id


CONTENT_TYPE = "application/problem+json"
TYPE = "urn:pegboard:problem:"
TITLES = {
    400: ("invalid-input", "The request is not valid"),
    401: ("not-authenticated", "No valid key or session"),
    403: ("not-allowed", "Not allowed"),
    404: ("not-found", "Not found"),
    405: ("method-not-allowed", "This method is not allowed here"),
    409: ("conflict", "The request conflicts with the current state"),
    411: ("length-required", "The body needs a Content-Length"),
    413: ("too-large", "The body is too large"),
    415: ("unsupported-media-type", "The body must be application/json"),
    422: ("not-processable", "The request contradicts an earlier one"),
    429: ("too-many-requests", "Too many requests"),
    500: ("internal-error", "Something went wrong inside Pegboard"),
    503: ("unavailable", "The database is not responding"),
}
SECONDS_TO_RETRY = 2
DATABASE_GONE = (OperationalError, InterfaceError)

logger = structlog.get_logger(__name__)


class NoRoom(exceptions.APIException):
    """The database could not store what was sent."""

    status_code = 503
    default_detail = WORDS
    wait = SECONDS_UNTIL_ROOM


def problem_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """Convert exceptions of the REST framework; None leaves unexpected ones to Django."""
    api_error = _as_api_exception(error)
    if isinstance(api_error, exceptions.NotAuthenticated):
        api_error = _limited(api_error, context)
    if api_error is None:
        return None
    if isinstance(error, DataError):
        logger.warning("a value does not fit into the database", exc_info=error)
    if isinstance(error, IntegrityError):
        logger.error("a change contradicts another one", exc_info=error)
    if isinstance(api_error, NoRoom):
        note_missing_room(error)
    elif api_error.status_code == 503:
        logger.error("database does not answer", exc_info=error)
    set_rollback()
    return Response(
        no_room()
        if isinstance(api_error, NoRoom)
        else problem(api_error.status_code, **_detail(api_error)),
        status=api_error.status_code,
        headers=_headers(api_error),
        content_type=CONTENT_TYPE,
    )


def problem(
    status: int, *, detail: str = "", errors: list[dict[str, str]] | None = None
) -> dict[str, Any]:
    """Build the body of a problem. With one wrong field, `field` names it."""
    kind, title = TITLES.get(status, TITLES[400 if status < 500 else 500])
    body: dict[str, Any] = {"type": TYPE + kind, "title": title, "status": status}
    body["detail"] = detail or title + "."
    if errors:
        body["field"] = errors[0]["field"]
        body["errors"] = errors
    return {**body, "request_id": current_request_id()}


def no_room() -> dict[str, Any]:
    """Return the body of the problem of a database that has no room to write."""
    title = "The database is out of disk space"
    return problem(503, detail=WORDS) | {"type": TYPE + NO_ROOM, "title": title}


def database_problem(error: Exception) -> JsonResponse:
    """Return the 503 of a database error from outside the REST framework."""
    if not lacks_room(error):
        return plain_problem(503)
    response = JsonResponse(no_room(), status=503, content_type=CONTENT_TYPE)
    response["Retry-After"] = str(SECONDS_UNTIL_ROOM)
    return response


def plain_problem(status: int, *, detail: str = "", field: str = "") -> JsonResponse:
    """Build a problem outside the REST framework: for middleware and unknown routes."""
    errors = [{"field": field[:64], "reason": detail}] if field else None
    response = JsonResponse(
        problem(status, detail=detail, errors=errors), status=status, content_type=CONTENT_TYPE
    )
    if status == 503:
        response["Retry-After"] = str(SECONDS_TO_RETRY)
    return response


def wants_problem(request: HttpRequest) -> bool:
    """Return True for programs, which get a problem document instead of an HTML page."""
    return request.path.startswith(("/api/", "/v0.1/", "/mcp/", "/scim/")) or request.path == "/mcp"


def _as_api_exception(error: Exception) -> exceptions.APIException | None:
    if lacks_room(error):
        return NoRoom()
    for kinds, status in _STATUS_OF:
        if isinstance(error, kinds):
            has_detail = status in {400, 403} and not isinstance(error, DataError)
            api_error = exceptions.APIException(str(error) if has_detail else None)
            api_error.status_code = status
            return api_error
    for kind, field in _FIELD_OF.items():
        if isinstance(error, kind):
            return exceptions.ValidationError({field: [str(error)]})
    if isinstance(error, FieldRefused):
        refused = exceptions.ValidationError({error.field: [str(error)]})
        refused.status_code = 403 if isinstance(error, DelegationRefused) else 400
        return refused
    return error if isinstance(error, exceptions.APIException) else None


_FIELD_OF = {CallerMissing: "user", CallerAmbiguous: "group", KeyRefused: "scopes"}


def _limited(
    error: exceptions.NotAuthenticated, context: dict[str, Any]
) -> exceptions.APIException:
    """Return the error, or Throttled where the address has sent too many such requests."""
    try:
        check_stranger(context["request"])
    except exceptions.Throttled as throttled:
        return throttled
    return error


_STATUS_OF: tuple[tuple[tuple[type[Exception], ...], int], ...] = (
    ((Http404,), 404),
    ((CallerRefused, PermissionDenied), 403),
    ((RequestDataTooBig,), 413),
    ((SuspiciousOperation,), 400),
    ((DataError,), 400),  # a number or a date that no column has room for
    # Rows are locked and read again before they are changed. Somebody may have deleted them, or
    # what they refer to, since the request began.
    ((ObjectDoesNotExist,), 404),
    ((IntegrityError,), 409),
    (DATABASE_GONE, 503),
)


def _detail(error: exceptions.APIException) -> dict[str, Any]:
    if isinstance(error, exceptions.ValidationError):
        errors = list(_fields(error.detail))
        return {"detail": f"{errors[0]['field']}: {errors[0]['reason']}", "errors": errors}
    if error.detail == exceptions.APIException.default_detail or error.status_code == 503:
        return {}
    return {"detail": str(error.detail)}


def _fields(detail: Any, path: str = "") -> Iterator[dict[str, str]]:
    """Return invalid fields with reasons; nested ones by path, such as `history.0`."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            at = "body" if name == "non_field_errors" else str(name)[:64]
            yield from _fields(inner, f"{path}.{at}" if path else at)
    elif isinstance(detail, list):
        for place, inner in enumerate(detail):
            nested = isinstance(inner, dict | list)
            yield from _fields(inner, f"{path}.{place}" if nested and path else path)
    else:
        yield {"field": path or "body", "reason": str(detail)}


def _headers(error: exceptions.APIException) -> dict[str, str]:
    wait = getattr(error, "wait", None)  # a throttled request's, in seconds
    if wait is not None:
        return {"Retry-After": str(ceil(wait))}
    if error.status_code == 503:
        return {"Retry-After": str(SECONDS_TO_RETRY)}
    header = getattr(error, "auth_header", None)
    return {"WWW-Authenticate": header} if header else {}


# Language of an answer: the reader's own on pages, English for programs.

PROGRAMS = "en"


class LanguageMiddleware(LocaleMiddleware):
    """Choose the language of pages as Django does: by cookie, then by the browser's preferences.

    Programs and models read API answers, and stored answers must not depend on a browser.
    """

    def process_request(self, request: HttpRequest) -> None:
        if wants_problem(request):
            translation.activate(PROGRAMS)
            request.LANGUAGE_CODE = PROGRAMS
        else:
            super().process_request(request)

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        return response if wants_problem(request) else super().process_response(request, response)


# Refusals that several APIs share, by their status; `problems.py` gives them their `type`.

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
        kind = next(base for base in type(refusal).__mro__ if base in refusals)
        raise refusals[kind](refusal) from refusal
