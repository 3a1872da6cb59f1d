"""Installation state transitions, by compare-and-set. Stale or cancelled workers change nothing.

Every transaction that moves an installation and writes elsewhere takes the locks below first:
advisory locks, then rows. Otherwise two of them could deadlock. Updating a row twice in a
transaction counts as well: Postgres then locks the rows it references, and waits for whoever
deletes them.
"""

import hashlib
from collections.abc import Mapping
from copy import copy
from dataclasses import fields
from datetime import timedelta
from typing import Any

import pglock
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from acl.platform.jobs import move
from catalog.formats.descriptors import IntegrationDescriptor, canonical_json, from_columns
from catalog.locks import lock_catalog, lock_definitions
from catalog.models import Capability, Definition, Integration
from catalog.models.integration import ReviewState
from catalog.trust.gate import ReviewedIntegration
from catalog.trust.stored_definition import INTEGRATION_TEXTS
from marketplace.models import Installation, InstallationEvent

State = Installation.State


class StoppedError(Exception):
    """The installation was cancelled or removed, or another worker has taken it."""


def lock_integration(integration_id: int) -> None:
    """Lock an integration against other operations until the transaction ends."""
    lock_definitions(integration_id)


def lock_installed(integration_id: int) -> None:
    """Lock an integration and the catalogue until the transaction ends."""
    lock_integration(integration_id)
    lock_catalog()


@transaction.atomic
def transition(
    installation: Installation, to: State, *, message: str = "", reason: str = ""
) -> bool:
    """Change the state and log an event. Return False if the state is not what the caller read."""
    now = Now()
    moved = move(installation, to, message=message, reason=reason, sent_at=now, updated_at=now)
    if not moved:
        return False
    installation.message, installation.reason = message, reason
    InstallationEvent.objects.create(installation=installation, state=to, message=message)
    return True


def advance(installation: Installation, to: State, message: str) -> None:
    """Change the state, for a worker; StoppedError if it may not continue."""
    if not transition(installation, to, message=message):
        raise StoppedError


# The integration as an installation would change it, and undoing what it wrote.

_FIELDS = [field.name for field in fields(IntegrationDescriptor)]
# Columns that an installation overwrites; the slug identifies the row and stays.
COLUMNS = [
    *(name for name in _FIELDS if name != "slug"),
    *("command_digest", "package", "listing", "unconfirmed", "updated_at"),
]


def from_json(values: Mapping[str, Any]) -> IntegrationDescriptor:
    """Restore a descriptor from its JSON."""
    columns: dict[str, Any] = {"slug": "", "kind": "mcp", "title": "", **values}
    return from_columns(IntegrationDescriptor, columns)


def build_candidate(installation: Installation) -> Integration:
    """Return the unsaved integration that the installation would produce. It can be probed."""
    candidate = copy(installation.integration)
    # A probe needs no texts, and nobody has reviewed the candidate's.
    _put(candidate, installation, besides={"slug", *INTEGRATION_TEXTS})
    candidate.enabled = False
    return candidate


def apply_installation(
    integration: Integration, installation: Installation, reviewed: ReviewedIntegration
) -> None:
    """Set the fields of the integration from the installation, with reviewed texts."""
    put_texts(integration, reviewed)
    _put(integration, installation, besides={"slug", *INTEGRATION_TEXTS})


def put_texts(integration: Integration, reviewed: ReviewedIntegration) -> None:
    """Set the integration's reviewed texts."""
    for name in INTEGRATION_TEXTS:
        setattr(integration, name, getattr(reviewed.descriptor, name))


def _put(integration: Integration, installation: Installation, *, besides: set[str]) -> None:
    for name, value in installation.descriptor.items():
        if name not in besides:
            setattr(integration, name, value)
    integration.command_digest = installation.command_digest
    integration.package = installation.package
    # The person who started the installation has confirmed its target.
    integration.unconfirmed = False
    integration.listing = str(installation.descriptor.get("source_ref", {}).get("listing") or "")


def undo_install(installation: Installation) -> None:
    """Delete the tools of an unfinished first installation. Callers hold `lock_installed`."""
    # An update is undone by not switching to it: the version in use stays as it is.
    if installation.kind != Installation.Kind.INSTALL:
        return
    pending = {"pk": installation.integration_id, "state": ReviewState.PENDING, "enabled": False}
    if not Integration.objects.filter(**pending).exists():
        return
    Definition.objects.filter(integration=installation.integration_id).delete()
    Capability.objects.filter(integration=installation.integration_id).delete()


# Idempotency keys: a repeated request returns the first result, another one is refused.
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
