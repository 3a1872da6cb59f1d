"""Managing installed integrations: enable, disable, update, roll back, repair, uninstall.

This module only writes rows; the outgoing worker closes connections and removes folders.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.platform.task_names import CLEAN_UP_INSTALLATIONS, send_on_commit
from catalog.formats.descriptors import IntegrationDescriptor, from_columns
from catalog.formats.names import slug_for
from catalog.models import Integration, ServerProposal
from catalog.models.integration import ReviewState
from catalog.servers.net.address_check import AllowedHosts, check_address
from catalog.servers.proposals import answer_proposal
from marketplace.installs.confirmation import (
    ConnectionLine,
    bounds_of,
    connection_lines,
    digest_of_target,
    to_confirm,
)
from marketplace.installs.requests import (
    NotPermittedError,
    TargetChangedError,
    begin_update,
    check_program,
    check_target,
    start_install,
)
from marketplace.installs.state import find_earlier, from_json, lock_installed, request_digest
from marketplace.installs.store_step import tools_digest
from marketplace.listings.reviews import check_not_held
from marketplace.models import Installation, Listing, ListingVersion


class NotReadyError(Exception):
    """The integration does not exist, or another operation has to end first."""


@dataclass(frozen=True, slots=True)
class Update:
    """A newer version of an installed integration, from its listing."""

    listing: Listing
    descriptor: IntegrationDescriptor
    integration: Integration

    @property
    def lines(self) -> tuple[ConnectionLine, ...]:
        """Facts of the connection, before and after: all that its digest covers."""
        return connection_lines(
            self.descriptor,
            self.integration,
            bounds=self.bounds if self.descriptor.transport == "stdio" else (),
            earlier_bounds=self.integration.package.get("constraints") or (),
        )

    @property
    def changes_connection(self) -> bool:
        """True if anything is contacted, sent or started that was not before."""
        return any(line.is_changed for line in self.lines)

    @property
    def version(self) -> str:
        """The version of the listing."""
        return self.descriptor.version

    @property
    def command(self) -> tuple[str, ...]:
        """The whole command to show; empty for remote servers."""
        return self.descriptor.command

    @property
    def bounds(self) -> list[str]:
        """Bounds that the listing's version is known to need."""
        return bounds_of(self.descriptor)

    @property
    def digest(self) -> str:
        """Digest of the command or address to confirm; "" if there is neither."""
        if self.descriptor.transport == "stdio":
            return to_confirm(self.descriptor).digest
        return digest_of_target(self.descriptor) if self.descriptor.transport else ""


@transaction.atomic
def set_enabled(*, by: User | None, integration: Integration, enabled: bool) -> bool:
    """Enable or disable an integration. Return False if nothing changes.

    An integration that was never ready can only be enabled by its installation.
    """
    row = Integration.objects.select_for_update().filter(pk=integration.pk).first()
    if row is None or row.state != ReviewState.APPROVED:
        raise NotReadyError(_("It is not installed, or needs a review first."))
    if row.enabled == enabled:
        return False
    Integration.objects.filter(pk=row.pk).update(enabled=enabled)
    integration.enabled = enabled
    record(by=by, action=f"integration.{'enable' if enabled else 'disable'}", target=row.slug)
    if not enabled:
        send_on_commit(CLEAN_UP_INSTALLATIONS)
    return True


@transaction.atomic
def uninstall(*, by: User | None, integration: Integration) -> None:
    """Delete an integration with its tools, vectors, grants, rules, secrets and history.

    It disappears from every answer at once. Processes and folders are cleaned up afterwards.
    """
    lock_installed(integration.pk)
    row = Integration.objects.select_for_update().filter(pk=integration.pk).first()
    if row is None:
        return
    # Lock dependent rows, so that writers wait and then find nothing to write to.
    for dependents in (row.capabilities, row.installations):
        list(dependents.select_for_update().order_by("pk").values_list("pk", flat=True))
    details = {"version": row.version, "capabilities": row.capabilities.count()}
    record(by=by, action="integration.uninstall", target=row.slug, details=details)
    row.delete()
    send_on_commit(CLEAN_UP_INSTALLATIONS)


def pending_update(integration: Integration) -> Update | None:
    """Return the listing's version if it differs from the installed one, else None."""
    listing = Listing.objects.filter(slug=integration.listing).exclude(slug="").first()
    return update_from(integration, listing)


def update_from(integration: Integration, listing: Listing | None) -> Update | None:
    """Return the update that the integration's listing offers, or None. Pure."""
    if listing is None or integration.state != ReviewState.APPROVED:
        return None
    descriptor = descriptor_of_listing(listing)
    files = [
        source_ref_of.get("files")
        for source_ref_of in (descriptor.source_ref, integration.source_ref)
    ]
    if descriptor.version == integration.version and files[0] == files[1]:
        return None
    # An update keeps the operations of an API that were chosen.
    chosen = integration.source_ref.get("chosen")
    source_ref = {**descriptor.source_ref, **({"chosen": chosen} if chosen else {})}
    descriptor = replace(descriptor, slug=integration.slug, source_ref=source_ref)
    if descriptor.transport == "stdio" and not to_confirm(descriptor).is_pinned:
        return None
    return Update(listing, descriptor, integration)


@transaction.atomic
def start_update(
    *, by: User, integration: Integration, confirmed: str = "", idempotency_key: str = ""
) -> Installation:
    """Start an update. The version in use stays until the new one is ready.

    `confirmed` is the digest of the command or the address that was shown. Raises NotReadyError,
    NotPermittedError, TargetChangedError, and ListingHeldError if the listing's text waits for a
    review and `by` is no admin.
    """
    digest = request_digest("update", integration.slug, confirmed)
    if earlier := find_earlier(by, idempotency_key, digest):
        return earlier
    update = pending_update(integration)
    if update is None:
        raise NotReadyError(_("There is no newer version."))
    check_not_held(by, update.descriptor)
    if update.descriptor.transport == "stdio":
        _check_permission(by)
        check_program(update.descriptor)
    elif update.descriptor.transport:
        check_address(update.descriptor.endpoint, AllowedHosts.from_settings())
        if not confirmed and update.changes_connection:
            raise TargetChangedError  # nobody has seen it
        check_target(update.descriptor, confirmed)
    if update.descriptor.transport == "stdio" and update.digest != confirmed:
        raise NotPermittedError
    return begin_update(
        by=by,
        integration=integration,
        descriptor=update.descriptor,
        kind=Installation.Kind.UPDATE,
        values={"constraints": update.bounds},
        idempotency_key=idempotency_key,
        digest=digest,
    )


@transaction.atomic
def roll_back(*, by: User, integration: Integration) -> Installation:
    """Start a rollback of the last update, from the previous version's own files and tools."""
    before = previous_installation(integration)
    if before is None:
        raise NotReadyError(_("There is no earlier version."))
    if before.command:
        _check_permission(by)
    return begin_update(
        by=by,
        integration=integration,
        descriptor=from_json(before.descriptor),
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
    """Start a reinstallation of the version in use, from files with the same hashes."""
    now = current_installation(integration)
    if now is None:
        raise NotReadyError(_("It is not installed."))
    if now.command:
        _check_permission(by)
    return begin_update(
        by=by,
        integration=integration,
        descriptor=from_json(now.descriptor),
        kind=Installation.Kind.UPDATE,
        values={
            "constraints": now.constraints,
            "package": now.package,
            "approved_tools": tools_digest(now.tools),
        },
    )


def current_installation(integration: Integration) -> Installation | None:
    """Return the installation in use."""
    return next(iter(_finished_installations(integration)[:1]), None)


def previous_installation(integration: Integration) -> Installation | None:
    """Return the installation that was in use before the current one."""
    return next(iter(_finished_installations(integration)[1:2]), None)


def _finished_installations(integration: Integration) -> QuerySet[Installation]:
    if integration.state != ReviewState.APPROVED:
        return Installation.objects.none()
    ready = Installation.objects.filter(integration=integration, state=Installation.State.READY)
    return ready.order_by("-pk")


def _check_permission(by: User) -> None:
    if not by.has_perm("marketplace.install_stdio"):
        raise NotPermittedError


def descriptor_of_listing(listing: Listing, version: str = "") -> IntegrationDescriptor:
    """Build the descriptor of a listing or of one version, with a reference to the listing."""
    values: dict[str, Any] = {name: getattr(listing, name, None) for name in _COPIED_FIELDS}
    values["source_ref"] = listing.details
    if version and (row := ListingVersion.objects.filter(listing=listing, version=version).first()):
        values |= {name: row.descriptor[name] for name in _FIELDS if name in row.descriptor}
    values["slug"] = slug_for(str(values.get("slug") or listing.slug))
    values["source_ref"] = {**(values["source_ref"] or {}), "listing": listing.slug}
    return from_columns(IntegrationDescriptor, values)


_FIELDS = [field.name for field in fields(IntegrationDescriptor)]
_COPIED_FIELDS = [name for name in _FIELDS if name != "source_ref"]
__all__ = [
    "NotPermittedError",
    "NotReadyError",
    "Update",
    "descriptor_of_listing",
    "pending_update",
    "previous_installation",
    "repair",
    "roll_back",
    "set_enabled",
    "start_update",
    "uninstall",
    "update_from",
]


# Servers that people propose, installed once an admin approves them.


@transaction.atomic
def install_proposed(
    *, by: User, proposal: ServerProposal, for_group: bool, note: str = ""
) -> Installation:
    """Approve the proposal and start its installation, for the requesting group or without a grant.

    Raises AnsweredError, AlreadyInstalledError and EndpointNotAllowedError, with nothing changed.
    """
    answer_proposal(by=by, proposal=proposal, approve=True, note=note)
    return start_install(
        by=by,
        descriptor=descriptor_of(proposal),
        groups=[proposal.group] if for_group else [],
    )


def descriptor_of(proposal: ServerProposal) -> IntegrationDescriptor:
    """Return the descriptor of the proposed server."""
    return IntegrationDescriptor(
        slug=slug_for(proposal.name),
        kind="mcp",
        title=proposal.name,
        description=proposal.reason,
        transport="http",
        endpoint=proposal.endpoint,
        source_ref={"type": "proposal", "by": proposal.user.get_username()},
    )
