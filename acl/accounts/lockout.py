"""What django-axes counts wrong passwords and wrong codes by.

Passwords: what was typed, and the address of whoever tries. Never the account: if the name and the
e-mail of one account shared their tries, three wrong ones by each would tell that they are one.
An account has at most a name and ACCOUNT_MAX_EMAIL_ADDRESSES addresses, and one address may try 30
times a minute by any name. Codes: the account, since whoever is asked for a code has the password.
"""

from collections.abc import Mapping
from typing import Any
from unicodedata import normalize

from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.http import HttpRequest

from acl.platform.client_address import client_address, network_of

Credentials = Mapping[str, Any]
BY_PASSWORD = [["username", "ip_address"]]
BY_CODE = ["username"]
MOST_CHARACTERS = 200  # of the column


def name_to_lock(request: HttpRequest, credentials: Credentials | None = None) -> str:
    """Return what was typed, in one spelling, whether or not somebody is called that."""
    given = credentials or {}
    if "codes_of" in given:
        return f"codes of {given['codes_of']}"  # with blanks, as nothing typed has any
    typed = str(given.get("username") or given.get("email") or request.POST.get("login", ""))
    # All spellings that the database could take for the same name are one.
    return "".join(normalize("NFKC", typed).casefold().split())[:MOST_CHARACTERS]


def address_to_lock(request: HttpRequest) -> str | None:
    """The address of the request; of IPv6 the network, since every customer has a whole one."""
    return network_of(client_address(request)).removesuffix("/64") or None


def what_is_locked(_: object, credentials: Credentials | None = None) -> list[Any]:
    """Count passwords by the typed name and the address, codes by the account."""
    return BY_CODE if "codes_of" in (credentials or {}) else BY_PASSWORD


def forget_wrong_passwords(request: HttpRequest, credentials: Credentials) -> None:
    """After a right one: those of the name that was typed, and of no other of the account."""
    AxesProxyHandler.reset_attempts(
        username=name_to_lock(request, credentials), ip_address=address_to_lock(request)
    )


def codes_are_locked(request: HttpRequest, user: User) -> bool:
    """Whether too many wrong codes were given; the middleware then answers that it is locked."""
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
    """After a right one."""
    AxesProxyHandler.reset_attempts(username=f"codes of {user.pk}")
