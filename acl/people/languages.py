"""Languages of people: chosen on the account page, provided by SCIM, or their browser's."""

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import get_language_from_request, get_supported_language_variant

from acl.models import PersonLanguage

Origin = PersonLanguage.Origin
_LONGEST = 40
# A weaker one never replaces a stronger one.
_WEAKER = {
    Origin.BROWSER: [Origin.BROWSER],
    Origin.PROVIDER: [Origin.BROWSER, Origin.PROVIDER],
    Origin.PERSON: list(Origin),
}


def language_of(person: User | None) -> str:
    """Return the language to write to them in; for everyone else, that of PEGBOARD_LANGUAGE."""
    return known_language(person) or settings.PEGBOARD_LANGUAGE


def known_language(person: User | None) -> str:
    """Return the person's language, or "" if it is unknown or not offered."""
    row: PersonLanguage | None = getattr(person, "language", None)
    if row is None:
        return ""
    try:
        return get_supported_language_variant(row.code.lower())
    except LookupError:
        return ""


def chosen_language(person: User) -> str:
    """Return the language that the person, or their identity provider, chose; else ""."""
    row: PersonLanguage | None = getattr(person, "language", None)
    return "" if row is None or row.origin == Origin.BROWSER else known_language(person)


def keep_language(*, person: User, code: str, origin: Origin) -> bool:
    """Store a language; return False if a stronger one is known, or it was this one already."""
    language, is_new = PersonLanguage.objects.get_or_create(
        user=person, defaults={"code": code, "origin": origin}
    )
    if is_new or (language.code, language.origin) == (code, origin):
        return is_new
    weaker = PersonLanguage.objects.filter(user=person, origin__in=_WEAKER[origin])
    return bool(weaker.update(code=code, origin=origin))


def forget_choice(*, person: User) -> None:
    """Forget what the person chose; what their provider says comes with its next change."""
    PersonLanguage.objects.filter(user=person).delete()


def provide_language(*, person: User, tag: str) -> None:
    """Keep what an identity provider says, or forget it where it says nothing any more."""
    if tag:
        keep_language(person=person, code=tag[:_LONGEST], origin=Origin.PROVIDER)
    else:
        PersonLanguage.objects.filter(user=person, origin=Origin.PROVIDER).delete()


def provided_tag(person: User) -> str:
    """Return the language as an identity provider would say it, or ""."""
    row: PersonLanguage | None = getattr(person, "language", None)
    return "" if row is None or row.origin == Origin.BROWSER else row.code


# The cookie with the language of the pages in a browser.


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
