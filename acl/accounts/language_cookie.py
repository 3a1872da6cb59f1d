"""The cookie with the language of the pages in a browser."""

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import get_language_from_request

from acl.accounts.languages import Origin, chosen_language, keep_language


def follow_language(request: HttpRequest, answer: HttpResponseBase, person: User) -> None:
    """At sign-in, show pages in the person's language; if none is chosen, keep the browser's."""
    if chosen := chosen_language(person):
        set_language_cookie(answer, chosen)
    else:
        code = get_language_from_request(request)
        keep_language(person=person, code=code, origin=Origin.BROWSER)


def browser_language(request: HttpRequest) -> str:
    """Return the language that the browser prefers, whatever was chosen in it."""
    request.COOKIES.pop(settings.LANGUAGE_COOKIE_NAME, None)
    return get_language_from_request(request)


def set_language_cookie(answer: HttpResponseBase, code: str) -> None:
    """Show pages in this language; in that of the browser if it is ""."""
    if not code:
        answer.delete_cookie(settings.LANGUAGE_COOKIE_NAME, samesite="Lax")
        return
    answer.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        code,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
