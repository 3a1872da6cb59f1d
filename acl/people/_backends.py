"""Find an account by name or e-mail address, with one statement whether or not there is one.

allauth's own backend asks more or fewer statements for a name, a confirmed address, and a stranger,
and so tells them apart by time.
"""

from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest


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
