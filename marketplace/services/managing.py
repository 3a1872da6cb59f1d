"""What is installed, as people manage it: switched on and off, updated, taken back, removed.

Here only rows are written; the process that goes out ends connections and removes folders.
"""

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from acl.services.audit import record
from catalog.descriptors import IntegrationDescriptor
from catalog.models import Integration
from catalog.models.integration import ReviewState
from catalog.normalizing.naming import slug_for
from catalog.outgoing.addresses import AllowedHosts, check_address
from marketplace.candidates import read_back
from marketplace.confirming import digest_of_target, to_confirm
from marketplace.differences import tools_digest
from marketplace.idempotency import earlier_of, request_digest
from marketplace.locking import lock_installed
from marketplace.models import Installation, Listing, ListingVersion
from marketplace.services.installs import (
    TIDY,
    NotPermittedError,
    begin_update,
    check_program,
    check_target,
    send_task,
)
from marketplace.services.listing_reviews import check_not_held


class NotReadyError(Exception):
    """The integration is not there, or something is under way that has to end first."""


@dataclass(frozen=True, slots=True)
class Update:
    """A newer version of what is installed, as its listing has it."""

    listing: Listing
    descriptor: IntegrationDescriptor

    @property
    def version(self) -> str:
        """Its name, as the listing gives it."""
        return self.descriptor.version

    @property
    def command(self) -> tuple[str, ...]:
        """The whole command, which has to be shown; empty where it runs no program."""
        return self.descriptor.command

    @property
    def digest(self) -> str:
        """The digest that says that the command or the address was seen; "" without either."""
        if self.descriptor.transport == "stdio":
            return to_confirm(self.descriptor).digest
        return digest_of_target(self.descriptor) if self.descriptor.transport else ""


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
    lock_installed(integration.pk)
    row = Integration.objects.select_for_update().filter(pk=integration.pk).first()
    if row is None:
        return
    # Whoever writes something that hangs on them now waits, and then finds nothing.
    for hangs_on in (row.capabilities, row.installations):
        list(hangs_on.select_for_update().order_by("pk").values_list("pk", flat=True))
    details = {"version": row.version, "capabilities": row.capabilities.count()}
    record(by=by, action="integration.uninstall", target=row.slug, details=details)
    row.delete()
    transaction.on_commit(partial(send_task, TIDY), robust=True)


def pending_update(integration: Integration) -> Update | None:
    """What the listing has that is not the installed version; None where it has nothing else."""
    listing = Listing.objects.filter(slug=integration.listing).exclude(slug="").first()
    if listing is None or integration.state != ReviewState.APPROVED:
        return None
    descriptor = descriptor_of_listing(listing)
    files = [one.get("files") for one in (descriptor.source_ref, integration.source_ref)]
    if descriptor.version == integration.version and files[0] == files[1]:
        return None
    descriptor = replace(descriptor, slug=integration.slug)
    if descriptor.transport == "stdio" and not to_confirm(descriptor).is_pinned:
        return None
    return Update(listing, descriptor)


@transaction.atomic
def start_update(
    *, by: User, integration: Integration, confirmed: str = "", idempotency_key: str = ""
) -> Installation:
    """Begin to install the newer version beside the one that serves, until it is ready.

    `confirmed` is the digest of the command or the address that was shown. Raises NotReadyError,
    NotPermittedError, OtherAddressError, and ListingHeldError where the listing's text waits for a
    review and `by` is no admin.
    """
    digest = request_digest("update", integration.slug, confirmed)
    if earlier := earlier_of(by, idempotency_key, digest):
        return earlier
    update = pending_update(integration)
    if update is None:
        raise NotReadyError("There is no newer version.")
    check_not_held(by, update.descriptor)
    if update.descriptor.transport == "stdio":
        _check_permission(by)
        check_program(update.descriptor)
    elif update.descriptor.transport:
        check_address(update.descriptor.endpoint, AllowedHosts.from_settings())
        check_target(update.descriptor, confirmed)
    if update.descriptor.transport == "stdio" and update.digest != confirmed:
        raise NotPermittedError
    return begin_update(
        by=by,
        integration=integration,
        descriptor=update.descriptor,
        kind=Installation.Kind.UPDATE,
        values={},
        idempotency_key=idempotency_key,
        digest=digest,
    )


@transaction.atomic
def roll_back(*, by: User, integration: Integration) -> Installation:
    """Begin to take back the last update: the version before it, from its own place, with the
    tools that it had."""
    before = version_before(integration)
    if before is None:
        raise NotReadyError("There is no version before this one.")
    if before.command:
        _check_permission(by)
    return begin_update(
        by=by,
        integration=integration,
        descriptor=read_back(before.descriptor),
        kind=Installation.Kind.ROLL_BACK,
        values={
            "constraints": before.constraints,
            "place": before.place,
            "package": before.package,
            "tools": before.tools,
            "approved_tools": tools_digest(before.tools),
        },
    )


@transaction.atomic
def repair(*, by: User, integration: Integration) -> Installation:
    """Begin to put the version that serves in place again, made of the very files that it was."""
    now = version_now(integration)
    if now is None:
        raise NotReadyError("It is not installed.")
    if now.command:
        _check_permission(by)
    return begin_update(
        by=by,
        integration=integration,
        descriptor=read_back(now.descriptor),
        kind=Installation.Kind.UPDATE,
        values={
            "constraints": now.constraints,
            "package": now.package,
            "approved_tools": tools_digest(now.tools),
        },
    )


def version_now(integration: Integration) -> Installation | None:
    """The installation that serves."""
    return next(iter(_served(integration)[:1]), None)


def version_before(integration: Integration) -> Installation | None:
    """The installation that served before the one that serves now."""
    return next(iter(_served(integration)[1:2]), None)


def _served(integration: Integration) -> QuerySet[Installation]:
    if integration.state != ReviewState.APPROVED:
        return Installation.objects.none()
    ready = Installation.objects.filter(integration=integration, state=Installation.State.READY)
    return ready.order_by("-pk")


def _check_permission(by: User) -> None:
    if not by.has_perm("marketplace.install_stdio"):
        raise NotPermittedError


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
    "repair",
    "roll_back",
    "set_enabled",
    "start_update",
    "uninstall",
    "version_before",
]
