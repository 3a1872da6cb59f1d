"""Error responses outside of the REST framework's views, also to texts that nothing can store."""

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import structlog
from django.core.exceptions import BadRequest, ObjectDoesNotExist
from django.db import DatabaseError, DataError
from django.http import HttpRequest, HttpResponse, QueryDict
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


# Postgres keeps no NUL in a text, and UTF-8 has no half surrogates. They are refused here, once,
# for every path, query, form and file name; JSON is refused by its parser. Cookies are not refused,
# which would lock their owner out of every page: one with such a text counts as none.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_UNSTORABLE_WORDS = "The request contains a NUL character or half a surrogate pair."


class PlainTextMiddleware:
    """Answer 400 to a path, query or form with characters that no text can have."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        _drop(request.COOKIES)
        _drop(request.META, [name for name in request.META if name.startswith("HTTP_")])
        field = "path" if _UNSTORABLE.search(request.path) else _unstorable_field(request.GET)
        return self._refused(request, field) if field else self._get_response(request)

    def process_view(
        self, request: HttpRequest, view: object, args: object, kwargs: Mapping[str, Any]
    ) -> HttpResponse | None:
        """Check the arguments of the view, and the form of a page."""
        if any(_UNSTORABLE.search(str(value)) for value in kwargs.values()):
            return self._refused(request, "path")
        if wants_problem(request) or not str(request.content_type).startswith(_FORMS):
            return None
        names = (file.name or "" for _, files in request.FILES.lists() for file in files)
        if _unstorable_field(request.POST) or any(map(_UNSTORABLE.search, names)):
            return self._refused(request, "body")
        return None

    def _refused(self, request: HttpRequest, field: str) -> HttpResponse:
        if wants_problem(request):
            return plain_problem(400, detail=f"{field}: {_UNSTORABLE_WORDS}", field=field)
        raise BadRequest(_UNSTORABLE_WORDS)


def _unstorable_field(sent: QueryDict) -> str:
    """Return the first field with such a text, "query" where its own name is one, or ""."""
    for name, values in sent.lists():
        if _UNSTORABLE.search(name):
            return "query"
        if any(map(_UNSTORABLE.search, values)):
            return name
    return ""


def _drop(texts: dict[str, Any], names: Iterable[str] | None = None) -> None:
    for name in list(texts if names is None else names):
        if _UNSTORABLE.search(str(texts[name])):
            del texts[name]
