"""Idempotency keys: a repeated request returns the first result, another one is refused."""

import hashlib
from typing import Any

from django.contrib.auth.models import User
from django.db import connection

from catalog.formats.descriptors import canonical_json
from marketplace.models import Installation


class OtherRequestError(Exception):
    """The key was used for a different request."""


class InProgressError(Exception):
    """Another request with this key is in progress."""


def request_digest(*parts: Any) -> str:
    """Hash the parameters of a request, which must not include values of secrets."""
    return hashlib.sha256(canonical_json(list(parts)).encode()).hexdigest()


def find_earlier(by: User, key: str, digest: str) -> Installation | None:
    """Return the installation that this key has started, if any.

    A new key is locked until the end of the transaction.
    """
    if not key:
        return None
    earlier = Installation.objects.filter(by=by, idempotency_key=key).first()
    if earlier is None:
        _lock_key(by, key)
        earlier = Installation.objects.filter(by=by, idempotency_key=key).first()
    if earlier is not None and earlier.request_digest != digest:
        raise OtherRequestError("The key was used for another request.")
    return earlier


def _lock_key(by: User, key: str) -> None:
    number = int.from_bytes(hashlib.sha256(f"{by.pk} {key}".encode()).digest()[:8], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [number])
        if not cursor.fetchone()[0]:
            raise InProgressError("A request with this key is being answered. Ask again soon.")
