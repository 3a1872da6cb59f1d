"""What is installed, as people manage it: switched on and off, updated, taken back, removed.

Here only rows are written; the process that goes out ends connections and removes folders.
"""

from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from acl.services.audit import record
from catalog.descriptors import IntegrationDescriptor
from catalog.locking import lock_catalog
from catalog.models import Integration
from catalog.models.integration import ReviewState
from catalog.normalizing.naming import slug_for
from marketplace.models import Installation, Listing, ListingVersion
from marketplace.services.installs import NotPermittedError, send_task

TIDY = "servers.tidy"


class NotReadyError(Exception):
    """The integration is not there, or something is under way that has to end first."""


@dataclass(frozen=True, slots=True)
class Update:
    """A newer version of what is installed, as its listing has it."""

    listing: Listing
    version: str
    descriptor: IntegrationDescriptor


@transaction.atomic
def set_enabled(*, by: User, integration: Integration, enabled: bool) -> bool:
    """Let it be used, or keep it for later; whether that changed anything.

    What was never ready cannot be enabled: its installation does that.
    """
    row = Integration.objects.select_for_update().filter(pk=integration.pk).first()
    if row is None or row.state != ReviewState.APPROVED:
        raise NotReadyError("It is not installed, or waits for somebody to look at it.")
    if row.enabled == enabled:
        return False
    Integration.objects.filter(pk=row.pk).update(enabled=enabled)
    integration.enabled = enabled
    record(by=by, action=f"integration.{'enable' if enabled else 'disable'}", target=row.slug)
    if not enabled:
        transaction.on_commit(partial(send_task, TIDY), robust=True)
    return True


@transaction.atomic
def uninstall(*, by: User, integration: Integration) -> None:
    """Remove it with all that hangs on it: tools, vectors, words, grants, rules, secrets, history.

    It is gone from every answer at once. Processes and folders follow: what no row wants is
    removed by the process that has them.
    """
    lock_catalog()
    row = Integration.objects.select_for_update().filter(pk=integration.pk).first()
    if row is None:
        return
    details = {"version": row.version, "capabilities": row.capabilities.count()}
    record(by=by, action="integration.uninstall", target=row.slug, details=details)
    row.delete()
    transaction.on_commit(partial(send_task, TIDY), robust=True)


def pending_update(integration: Integration) -> Update | None:
    """What the listing has that is not the installed version; None where it has nothing else."""
    listing = Listing.objects.filter(slug=integration.listing).exclude(slug="").first()
    if listing is None or not listing.version or listing.version == integration.version:
        return None
    return Update(listing, listing.version, descriptor_of_listing(listing))


def start_update(
    *, by: User, integration: Integration, confirmed: str, idempotency_key: str = ""
) -> Installation:
    """Begin to install the newer version beside the one that serves."""
    raise NotReadyError("There is no newer version.")


def roll_back(*, by: User, integration: Integration) -> Installation:
    """Begin to take back the last update."""
    raise NotReadyError("There is no version before this one.")


def descriptor_of_listing(listing: Listing, version: str = "") -> IntegrationDescriptor:
    """How the listing, or one version of it, is installed; it remembers where it came from."""
    values: dict[str, Any] = {name: getattr(listing, name, None) for name in _SAME}
    values["source_ref"] = listing.details
    if version and (row := ListingVersion.objects.filter(listing=listing, version=version).first()):
        values |= {name: row.descriptor[name] for name in _FIELDS if name in row.descriptor}
    values["slug"] = slug_for(str(values.get("slug") or listing.slug))
    values["source_ref"] = {**(values["source_ref"] or {}), "listing": listing.slug}
    for name in ("command", "required_secrets"):
        values[name] = tuple(values[name] or ())
    return IntegrationDescriptor(**values)


_FIELDS = [field.name for field in fields(IntegrationDescriptor)]
_SAME = [name for name in _FIELDS if name != "source_ref"]
__all__ = [
    "NotPermittedError",
    "NotReadyError",
    "Update",
    "descriptor_of_listing",
    "pending_update",
    "roll_back",
    "set_enabled",
    "start_update",
    "uninstall",
]
