"""What django-axes counts wrong passwords and wrong codes by.

Passwords: the account and the address of whoever tries. An account has several names, in any case
of letters; all of them are one, or each would have tries of its own. Codes: the account alone,
since whoever is asked for a code has the password already.
"""

from collections.abc import Mapping
from typing import Any
from unicodedata import normalize

from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.db.models import Q
from django.http import HttpRequest

from acl.api.addresses import client_address, network_of

Credentials = Mapping[str, Any]
BY_PASSWORD = [["username", "ip_address"]]
BY_CODE = ["username"]
MOST_CHARACTERS = 200  # of the column


def name_to_lock(request: HttpRequest, credentials: Credentials | None = None) -> str:
    """The account's name; what was typed where there is no such account."""
    given = credentials or {}
    if "codes_of" in given:
        return f"codes of {given['codes_of']}"  # with blanks, as nothing typed has any
    typed = str(given.get("username") or given.get("email") or request.POST.get("login", ""))
    known = Q(username__iexact=typed) | Q(email__iexact=typed)
    known |= Q(emailaddress__email=typed.lower(), emailaddress__verified=True)
    found = User.objects.filter(known).order_by("pk").values_list("username", flat=True).first()
    return found or "".join(normalize("NFKC", typed).casefold().split())[:MOST_CHARACTERS]


def address_to_lock(request: HttpRequest) -> str | None:
    """The address of the request; of IPv6 the network, since every customer has a whole one."""
    return network_of(client_address(request)).removesuffix("/64") or None


def what_is_locked(_: object, credentials: Credentials | None = None) -> list[Any]:
    """Account and address for passwords, the account for codes."""
    return BY_CODE if "codes_of" in (credentials or {}) else BY_PASSWORD


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
