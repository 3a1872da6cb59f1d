"""Language of an answer: the reader's own on pages, English for programs."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation

from acl.http.problems import wants_problem

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
