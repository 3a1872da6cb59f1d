"""Keys of requests: the same request twice is one, as its key says; another one is refused."""

import hashlib
from typing import Any

from django.contrib.auth.models import User
from django.db import connection

from catalog.formats.descriptors import canonical_json
from marketplace.models import Installation


class OtherRequestError(Exception):
    """The key was used for something else."""


class InProgressError(Exception):
    """A request with this key is being answered at this moment."""


def request_digest(*parts: Any) -> str:
    """What stands for what was asked for; no part of it may be a secret's value."""
    return hashlib.sha256(canonical_json(list(parts)).encode()).hexdigest()


def earlier_of(by: User, key: str, digest: str) -> Installation | None:
    """What the key has begun before; None where it is new, and then it is held until the end of
    the transaction."""
    if not key:
        return None
    earlier = Installation.objects.filter(by=by, idempotency_key=key).first()
    if earlier is None:
        _hold(by, key)
        earlier = Installation.objects.filter(by=by, idempotency_key=key).first()
    if earlier is not None and earlier.request_digest != digest:
        raise OtherRequestError("The key was used for another request.")
    return earlier


def _hold(by: User, key: str) -> None:
    number = int.from_bytes(hashlib.sha256(f"{by.pk} {key}".encode()).digest()[:8], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [number])
        if not cursor.fetchone()[0]:
            raise InProgressError("A request with this key is being answered. Ask again soon.")
