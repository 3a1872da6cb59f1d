"""Limits by the minute: for each key, person or address, and for wrong keys."""

import time
from threading import Lock
from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from acl.api.addresses import client_address, network_of
from acl.api.counting import seconds_over
from acl.services.keys import KeyHolder

if TYPE_CHECKING:  # the framework imports this module while it makes APIView
    from rest_framework.views import APIView

MOST_BARRED = 10_000


class KeyThrottle(BaseThrottle):
    """How often a key or a person may ask, or an address that shows neither."""

    def allow_request(self, request: Request, view: "APIView") -> bool:
        self._wait = seconds_over(*_who(request))
        return not self._wait

    def wait(self) -> float:
        """Seconds until a request has a place again, for Retry-After."""
        return self._wait


def check_stranger(request: Request) -> None:
    """Raise Throttled where an address is told too often that it needs a key.

    Throttles come after permissions, so they never see who is refused there.
    """
    if wait := seconds_over(*_address(request)):
        raise Throttled(wait)


class WrongKeys:
    """Addresses that tried too many wrong keys: for a while none of theirs is looked at.

    Who is barred is kept in this process, so that good keys cost nothing here. Another process
    finds out by the first wrong key that it meets.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._until: dict[str, float] = {}

    def check(self, request: Request) -> None:
        """Raise Throttled while the address is barred."""
        until = self._until.get(_network(request), 0)
        if (wait := until - time.time()) > 0:
            raise Throttled(wait)

    def note(self, request: Request) -> None:
        """Count one more; raise Throttled where it is one too many."""
        network = _network(request)
        if wait := seconds_over(f"wrong{network}", settings.PEGBOARD_RATE_WRONG_KEYS):
            self._bar(network, time.time() + wait)
            raise Throttled(wait)

    def _bar(self, network: str, until: float) -> None:
        with self._lock:
            if len(self._until) >= MOST_BARRED:
                now = time.time()
                self._until = {one: end for one, end in self._until.items() if end > now}
            self._until[network] = until


wrong_keys = WrongKeys()


def _who(request: Request) -> tuple[str, int]:
    """The counter, and its limit."""
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
