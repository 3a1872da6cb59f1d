"""Keys by which django-axes counts wrong passwords and codes."""

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
