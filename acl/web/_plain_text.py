"""Refusal of requests with texts that nothing can store: NUL characters and half surrogates.

Postgres keeps no NUL in a text, and UTF-8 has no half surrogates. They are refused here, once, for
every path, query, form and file name; JSON is refused by its parser. Cookies are not refused,
which would lock their owner out of every page: one with such a text counts as none.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, QueryDict

from acl.web.problems import plain_problem, wants_problem

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
WORDS = "The request contains a NUL character or half a surrogate pair."


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
            return plain_problem(400, detail=f"{field}: {WORDS}", field=field)
        raise BadRequest(WORDS)


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
