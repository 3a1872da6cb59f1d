"""Error responses outside of the REST framework's views."""

import sys
from collections.abc import Callable

import structlog
from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError, DataError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, gettext_noop
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt

from acl.platform.database_work import SECONDS_TO_RETRY as SECONDS_UNTIL_ROOM
from acl.platform.database_work import WORDS, lacks_room, note_missing_room
from acl.web.problems import (
    DATABASE_GONE,
    SECONDS_TO_RETRY,
    database_problem,
    plain_problem,
    wants_problem,
)

logger = structlog.get_logger(__name__)


class FailureMiddleware:
    """Answer 503 while the database is down, 400 for values that fit no column, 411 for bodies
    without a length."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if wants_problem(request) and "Transfer-Encoding" in request.headers:
            return plain_problem(411)
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Handle errors of pages; the REST framework's views have problems of their own."""
        if isinstance(error, DataError):
            logger.warning("a value does not fit into the database", exc_info=error)
            return bad_request(request, error)
        if isinstance(error, ObjectDoesNotExist):  # deleted since the request began
            return not_found(request, error)
        gone = isinstance(error, DATABASE_GONE) or lacks_room(error)
        return _database_failure(request, error) if gone else None


def _database_failure(request: HttpRequest, error: Exception) -> HttpResponse:
    """Return a 503 with Retry-After: a problem for programs, a sentence for people."""
    full = lacks_room(error)
    if full:
        note_missing_room(error)
    if wants_problem(request):
        return database_problem(error)
    return HttpResponse(
        gettext(WORDS if full else _GONE),
        status=503,
        content_type="text/plain",
        headers={"Retry-After": str(SECONDS_UNTIL_ROOM if full else SECONDS_TO_RETRY)},
    )


_GONE = gettext_noop("Pegboard's database is not responding. Try again in a few seconds.")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer as handler400."""
    return (
        plain_problem(400) if wants_problem(request) else defaults.bad_request(request, exception)
    )


def not_allowed(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer as handler403."""
    if wants_problem(request):
        return plain_problem(403)
    return defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer as handler404."""
    return (
        plain_problem(404)
        if wants_problem(request)
        else defaults.page_not_found(request, exception)
    )


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer as handler500. Only the log says what went wrong.

    Failures of middleware arrive here, too, such as a session that could not be saved.
    """
    error = sys.exception()
    if isinstance(error, DATABASE_GONE) or (isinstance(error, DatabaseError) and lacks_room(error)):
        return _database_failure(request, error)
    return plain_problem(500) if wants_problem(request) else defaults.server_error(request)


@csrf_exempt
def no_such_call(request: HttpRequest) -> HttpResponse:
    """Answer unknown routes below api/v1/ with a problem, where DEBUG would list all routes."""
    return plain_problem(404)
