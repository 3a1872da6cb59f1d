"""Rate limits per minute: for keys, people and addresses, and for wrong keys.

A chat backend is one key and many people. Its key may use the machine; each person for whom it
acts has the limits of a person, so nobody uses up what is the others'.
"""

from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from acl.keys.lifecycle import KeyHolder
from acl.platform.client_address import client_address, network_of
from acl.web.rate_counts import seconds_over

if TYPE_CHECKING:  # the framework imports this module while it makes APIView
    from rest_framework.views import APIView
from collections.abc import Callable, Iterable, Iterator
from math import ceil
from time import thread_time

from django.contrib.auth.models import AnonymousUser
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from rest_framework.exceptions import ErrorDetail

from acl.web.rate_counts import WINDOW, charge, seconds_over_budget

# Budgets of CPU time: milliseconds a minute for each key, person and address.
# Requests differ in cost by a factor of a thousand, so counting them protects nobody. Every
# request is measured by the CPU time of its thread, which is charged after the answer. Whoever
# has used the budget up is refused: by pages before anything else, by the API once it knows whose
# key it is. An address pays only for requests that show neither a valid key nor a session. Not
# counted: Postgres, the workers, and threads of the embedding model.

_MICROSECONDS = 1_000_000
_PROBES = {"/healthz", "/livez"}  # no budget: they say that the server is alive


class BudgetSpent(Throttled):
    """The CPU budget of the last minute is used up."""

    def __init__(self, *, used: int, limit: int, wait: float) -> None:
        super().__init__(ceil(wait))
        self.seconds = wait
        reason = _(
            "%(used)s ms of CPU time were used in the last minute, of %(limit)s ms. "
            "The budget refills over %(window)s seconds; try again in %(wait)s seconds."
        ) % {
            "used": f"{used // 1000:,}",
            "limit": f"{limit:,}",
            "window": WINDOW,
            "wait": ceil(wait),
        }
        self.detail = ErrorDetail(reason, self.default_code)


def check_budget(payer: str, limit: int) -> None:
    """Raise BudgetSpent if `payer` has used up `limit` milliseconds a minute."""
    used, wait = seconds_over_budget(payer, limit * 1000)
    if wait:
        raise BudgetSpent(used=used, limit=limit, wait=wait)


def payer_of(request: HttpRequest) -> tuple[str, int]:
    """Return the payer of a request, as far as known by now, and the budget in milliseconds.

    This reads nothing: a session that the request did not need is not read for it.
    """
    holder = getattr(request, "auth", None)  # the REST framework notes it here, too
    if isinstance(holder, KeyHolder):
        return f"key{holder.key_id}", settings.PEGBOARD_CPU_PER_KEY
    person = getattr(request, "_cached_user", None) or AnonymousUser()
    if person.pk is not None:
        return f"user{person.pk}", settings.PEGBOARD_CPU_PER_PERSON
    return f"address{network_of(client_address(request))}", settings.PEGBOARD_CPU_PER_ADDRESS


def _share_of_application(request: HttpRequest) -> tuple[str, int] | None:
    """Return the payer that all keys of an application are together, and its share, if it has
    one."""
    holder = getattr(request, "auth", None)
    application = holder.application if isinstance(holder, KeyHolder) else None
    if application is None or application.cpu_a_minute is None:
        return None
    return f"application{application.id}", application.cpu_a_minute


class BudgetMiddleware:
    """Measure every request. Pages are refused here, API calls by their throttles."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = thread_time()
        response = self._get_response(request)
        if getattr(response, "streaming", False):
            response.streaming_content = _metered(response.streaming_content, request)  # type: ignore[attr-defined]
        _charge(request, started)
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponseBase], *_arguments: object
    ) -> HttpResponse | None:
        """Refuse a page. Probes and the API's views have throttles of their own, or none."""
        if hasattr(view, "cls") or request.path in _PROBES:
            return None
        try:
            request.user.is_authenticated  # noqa: B018 - reads the session, as nearly every page does
            check_budget(*payer_of(request))
        except DatabaseError:
            return None  # the page itself will fail and be answered
        except BudgetSpent as spent:
            response = render(request, "429.html", {"detail": spent.detail}, status=429)
            response["Retry-After"] = str(ceil(spent.seconds))
            return response
        return None


def _metered(content: Iterable[bytes], request: HttpRequest) -> Iterator[bytes]:
    """Charge the CPU time of a streamed answer while it is sent."""
    waiting = iter(content)
    while True:
        started = thread_time()
        try:
            piece = next(waiting)
        except StopIteration:
            return
        finally:
            _charge(request, started)
        yield piece


def _charge(request: HttpRequest, started: float) -> None:
    spent = int((thread_time() - started) * _MICROSECONDS)
    charge(payer_of(request)[0], spent)
    if share := _share_of_application(request):
        charge(share[0], spent)
    if acted_for := getattr(request, "acted_for", ""):
        charge(acted_for, spent)


class KeyThrottle(BaseThrottle):
    """Rate limit of a key or person, or of an address that shows neither."""

    def allow_request(self, request: Request, view: "APIView") -> bool:
        self._wait = seconds_over(*_who(request))
        if not self._wait:
            check_budget(*payer_of(request._request))
            if share := _share_of_application(request._request):
                check_budget(*share)
        return not self._wait

    def wait(self) -> float:
        """Return the seconds until the next request is allowed, for Retry-After."""
        return self._wait


def check_person(request: Request, holder: KeyHolder, user_id: int) -> None:
    """Count a key's request for a person, once. Raise Throttled beyond a person's limits."""
    person = f"key{holder.key_id}for{user_id}"
    if getattr(request._request, "acted_for", "") == person:
        return
    request._request.acted_for = person  # type: ignore[attr-defined]
    if wait := seconds_over(person, settings.PEGBOARD_RATE_PER_PERSON):
        raise Throttled(wait)
    check_budget(person, settings.PEGBOARD_CPU_PER_PERSON)


def check_stranger(request: Request) -> None:
    """Raise Throttled where an address is told too often that it needs a key.

    Throttles come after permissions, so they never see who is refused there.
    """
    if wait := seconds_over(*_address(request)):
        raise Throttled(wait)
    check_budget(*payer_of(request._request))


def check_wrong_key(request: Request) -> None:
    """Count a wrong key; raise Throttled where its address has sent too many.

    Only wrong keys are refused. A key has 256 random bits, so nothing is won by trying more of
    them, and a valid key of the same address stays as good as it was.
    """
    if wait := seconds_over(f"wrong{_network(request)}", settings.PEGBOARD_RATE_WRONG_KEYS):
        raise Throttled(wait)


def _who(request: Request) -> tuple[str, int]:
    """Return the counter's name and its limit."""
    if isinstance(request.auth, KeyHolder):
        return f"key{request.auth.key_id}", settings.PEGBOARD_RATE_PER_KEY
    person = getattr(request.user, "pk", None)
    if person is not None:
        return f"user{person}", settings.PEGBOARD_RATE_PER_PERSON
    return _address(request)


def _address(request: Request) -> tuple[str, int]:
    return f"address{_network(request)}", settings.PEGBOARD_RATE_PER_ADDRESS


def _network(request: Request) -> str:
    return network_of(client_address(request._request))
