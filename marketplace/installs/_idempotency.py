"""Idempotency keys: a repeated request returns the first result, another one is refused."""

import hashlib
from datetime import timedelta
from typing import Any

import pglock
from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from catalog.formats.descriptors import canonical_json
from marketplace.models import Installation


class OtherRequestError(Exception):
    """The key was used for a different request."""


class InProgressError(Exception):
    """Another request with this key is in progress."""


def request_digest(*parts: Any) -> str:
    """Hash the parameters of a request, which must not include values of secrets."""
    return hashlib.sha256(canonical_json(list(parts)).encode()).hexdigest()


def find_earlier(
    by: User, key: str, digest: str, *, wait: timedelta = timedelta(0)
) -> Installation | None:
    """Return the installation that this key has started, if any.

    A new key is locked until the end of the transaction. Another request that holds it is waited
    for as long as `wait` says; then InProgressError is raised.
    """
    if not key:
        return None
    earlier = Installation.objects.filter(by=by, idempotency_key=key).first()
    if earlier is None:
        name = f"marketplace.installs/{by.pk}/{key}"
        if not pglock.advisory(name, xact=True, timeout=wait).acquire():
            raise InProgressError(
                _("A request with this idempotency key is in progress. Try again soon.")
            )
        earlier = Installation.objects.filter(by=by, idempotency_key=key).first()
    if earlier is not None and earlier.request_digest != digest:
        raise OtherRequestError(_("This idempotency key was used for a different request."))
    return earlier
