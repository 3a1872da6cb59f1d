"""Attempts to sign in: finding the account without telling whether there is one, and counting."""

from collections.abc import Mapping
from typing import Any
from unicodedata import normalize

from allauth.account.auth_backends import AuthenticationBackend
from allauth.account.models import EmailAddress
from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest

from acl.platform.client_address import client_address, network_of

# Find an account by name or e-mail address, with one statement whether or not there is one.
#
# allauth's own backend asks more or fewer statements for a name, a confirmed address, and a
# stranger, and so tells them apart by time.


class PasswordBackend(AuthenticationBackend):  # type: ignore[misc]  # allauth has no types
    """Name or address, and password: one statement and one hash in every case."""

    def _authenticate(self, request: HttpRequest | None, **credentials: Any) -> User | None:
        typed = str(credentials.get("username") or credentials.get("email") or "")
        person: User | None = self._check_password(
            find_by_name_or_address(typed), credentials.get("password") or ""
        )
        return person


def find_by_name_or_address(typed: str) -> User | None:
    """Return the account that the name or address signs in.

    A confirmed address beats a name, so that nobody can take someone's address as a name. An
    unconfirmed address comes last.
    """
    people = _with_address(typed).filter(
        Q(username__iexact=typed) | Q(email__iexact=typed) | Q(has_added=True)
    )
    return _first(people, typed)


def find_by_address(email: str) -> User | None:
    """Return the active person to whom a link to the address belongs."""
    people = _with_address(email).filter(Q(email__iexact=email) | Q(has_added=True))
    return _first(people.filter(is_active=True).annotate(all_addresses=_ADDRESSES), email)


class LinkTokens(PasswordResetTokenGenerator):
    """Links to another password, which end with any change of the person's addresses."""

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        addresses = getattr(user, "all_addresses", None)
        if addresses is None:
            addresses = User.objects.values_list(_ADDRESSES, flat=True).get(pk=user.pk)
        return super()._make_hash_value(user, timestamp) + "".join(sorted(addresses))


_ADDRESSES = ArraySubquery(EmailAddress.objects.filter(user=OuterRef("pk")).values("email"))


def _with_address(typed: str) -> QuerySet[User]:
    added = EmailAddress.objects.filter(user=OuterRef("pk"), email=typed.lower())
    confirmed = Exists(added.filter(verified=True))
    return User.objects.annotate(has_confirmed=confirmed, has_added=Exists(added))


def _first(people: QuerySet[User], typed: str) -> User | None:
    """Return the best match.

    Postgres compares in upper case, where other letters are equal than in lower case, so its
    matches are checked again.
    """

    def rank(person: Any) -> tuple[bool, bool, bool, int]:
        has_name = person.username.lower() == typed.lower()
        has_email = person.email.lower() == typed.lower()
        return not person.has_confirmed, not has_name, not has_email, person.pk

    fitting: list[Any] = [
        person
        for person in people
        if person.has_added or typed.lower() in (person.username.lower(), person.email.lower())  # type: ignore[attr-defined]
    ]
    return min(fitting, key=rank, default=None)


# Keys by which django-axes counts wrong passwords and codes.

Credentials = Mapping[str, Any]
BY_PASSWORD = [["username", "ip_address"]]
BY_CODE = ["username"]
MOST_CHARACTERS = 200  # of the column


def name_to_lock(request: HttpRequest, credentials: Credentials | None = None) -> str:
    """Return the typed name in one spelling, whether or not an account has it."""
    values = credentials or {}
    if "codes_of" in values:
        return f"codes of {values['codes_of']}"  # with blanks, as nothing typed has any
    typed = str(values.get("username") or values.get("email") or request.POST.get("login", ""))
    # All spellings that the database could take for the same name are one.
    return "".join(normalize("NFKC", typed).casefold().split())[:MOST_CHARACTERS]


def address_to_lock(request: HttpRequest) -> str | None:
    """Return the client address; for IPv6 the network, since each customer has a whole one."""
    return network_of(client_address(request)).removesuffix("/64") or None


def lockout_parameters(_: object, credentials: Credentials | None = None) -> list[Any]:
    """Count passwords by the typed name and the address, codes by the account."""
    return BY_CODE if "codes_of" in (credentials or {}) else BY_PASSWORD


def forget_wrong_passwords(request: HttpRequest, credentials: Credentials) -> None:
    """Reset the count of the typed name only, not of other names of the account."""
    AxesProxyHandler.reset_attempts(
        username=name_to_lock(request, credentials), ip_address=address_to_lock(request)
    )


def codes_are_locked(request: HttpRequest, user: User) -> bool:
    """Return True after too many wrong codes; the middleware then answers "locked"."""
    credentials = {"codes_of": user.pk}
    if AxesProxyHandler.is_allowed(request, credentials):
        return False
    request.axes_locked_out = True  # type: ignore[attr-defined]
    request.axes_credentials = credentials  # type: ignore[attr-defined]
    return True


def note_wrong_code(request: HttpRequest, user: User) -> None:
    """Count a wrong code."""
    user_login_failed.send(sender=__name__, credentials={"codes_of": user.pk}, request=request)


def forget_wrong_codes(user: User) -> None:
    """Reset the count of wrong codes."""
    AxesProxyHandler.reset_attempts(username=f"codes of {user.pk}")
