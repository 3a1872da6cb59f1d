"""The newest visit of a person: how their request arrived says how the proxy is set up."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest

from acl.platform.redis_circuit import attempt

KEY = "pegboard:visit"


@dataclass(frozen=True, slots=True)
class Visit:
    """The host of a request, and what a proxy said of it."""

    host: str
    is_secure: bool
    scheme: str = ""  # of X-Forwarded-Proto
    is_forwarded: bool = False  # with X-Forwarded-For


@receiver(user_logged_in, dispatch_uid="pegboard-visit")
def _note_sign_in(request: HttpRequest | None = None, **_: Any) -> None:
    if request is not None:
        note_visit(request)


def note_visit(request: HttpRequest) -> None:
    """Remember how the request of a person arrived."""
    if not (host := request.META.get("HTTP_HOST", "")):
        return
    proxied = request.headers.get("X-Forwarded-Proto", "").rpartition(",")[2].strip()
    visit = Visit(
        host[:200], request.is_secure(), proxied[:8], "X-Forwarded-For" in request.headers
    )
    attempt(lambda redis: redis.set(KEY, json.dumps(asdict(visit))), default=None)


def newest_visit() -> Visit | None:
    """Return the newest visit; None before the first, or while Redis is away."""
    text = attempt(lambda redis: redis.get(KEY), default=None)
    try:
        return Visit(**json.loads(text)) if text else None
    except (TypeError, ValueError):  # of another version, during an upgrade
        return None
