"""Rate limits per minute: for keys, people and addresses, and for wrong keys."""

from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from acl.http.cpu_budgets import check_budget, payer_of
from acl.http.rate_counts import seconds_over
from acl.keys.key_lifecycle import KeyHolder
from acl.platform.client_address import client_address, network_of

if TYPE_CHECKING:  # the framework imports this module while it makes APIView
    from rest_framework.views import APIView


class KeyThrottle(BaseThrottle):
    """Rate limit of a key or person, or of an address that shows neither."""

    def allow_request(self, request: Request, view: "APIView") -> bool:
        self._wait = seconds_over(*_who(request))
        if not self._wait:
            check_budget(*payer_of(request._request))
        return not self._wait

    def wait(self) -> float:
        """Return the seconds until the next request is allowed, for Retry-After."""
        return self._wait


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
        return f"user{person}", settings.PEGBOARD_RATE_PER_KEY
    return _address(request)


def _address(request: Request) -> tuple[str, int]:
    return f"address{_network(request)}", settings.PEGBOARD_RATE_PER_ADDRESS


def _network(request: Request) -> str:
    return network_of(client_address(request._request))
