"""Requests to install. This module only writes rows; workers do the work."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from acl.audit.recorder import record
from acl.models import Space
from acl.platform.task_names import CLEAN_UP_INSTALLATIONS, INSTALL, send_on_commit
from catalog.access.grants import set_restricted
from catalog.formats.descriptors import IntegrationDescriptor, column_values
from catalog.formats.icon_choice import icon_address
from catalog.formats.package_names import NotAPackageError, check_constraint, parse_package
from catalog.icons import set_icon
from catalog.models import Integration
from catalog.models.integration import ReviewState
from catalog.registration.admission import review_integrations
from catalog.registration.integration_identity import find_installation_clash
from catalog.servers.client.launch_rules import (
    CommandNotAllowedError,
    Launchers,
    check_command,
    check_variables,
)
from catalog.servers.client.variable_rules import refusal_reason
from catalog.servers.net.address_check import AllowedHosts, check_address
from catalog.servers.program_network import set_network
from catalog.servers.secrets.store import set_secret
from marketplace.installs.confirmation import (
    CommandToConfirm,
    digest_of_target,
    digest_to_confirm,
    to_confirm,
)
from marketplace.installs.state import (
    InProgressError,
    OtherRequestError,
    find_earlier,
    from_json,
    lock_installed,
    lock_integration,
    request_digest,
    transition,
    undo_install,
)
from marketplace.installs.store_step import approve_all, tools_digest
from marketplace.listings.reviews import ListingHeldError, check_not_held
from marketplace.models import Installation

__all__ = [
    "AlreadyInstalledError",
    "CommandToConfirm",
    "InProgressError",
    "ListingHeldError",
    "NameTakenError",
    "NetworkWish",
    "NotPermittedError",
    "OtherRequestError",
    "ToolsChangedError",
    "approve_install",
    "approve_seen_install",
    "cancel_install",
    "confirm_install",
    "retry_install",
    "start_install",
    "to_confirm",
]
State = Installation.State
WAITING = gettext_noop("Waiting for a worker.")  # stored; pages translate it
_RETRIED = (State.FAILED, State.CANCELLED, State.NEEDS_SECRET)
_PLACEHOLDER = re.compile(r"\{[A-Za-z_][\w .-]*\}")


class AlreadyInstalledError(Exception):
    """The integration is already installed, or being installed."""


class NameTakenError(AlreadyInstalledError):
    """Another integration has this name. The message names both."""


class TargetChangedError(Exception):
    """Changed target: it differs from the one shown to the person."""

    def __init__(self) -> None:
        super().__init__(_("The address has changed. Review it again."))


class ToolsChangedError(Exception):
    """Changed tools: they differ from those shown to the person."""

    def __init__(self) -> None:
        super().__init__(_("The tools have changed since they were shown. Review them again."))


class NotPermittedError(Exception):
    """The user may not install this kind of server."""


@dataclass(frozen=True, slots=True)
class NetworkWish:
    """Chosen network of a new program."""

    hosts: tuple[str, ...] = ()
    whole: bool = False

    @property
    def asked(self) -> tuple[object, ...]:
        """Parts for the request's digest; empty if nothing was chosen."""
        return (list(self.hosts), self.whole) if self.hosts or self.whole else ()


@transaction.atomic
def start_install(
    *,
    by: User,
    descriptor: IntegrationDescriptor,
    groups: Iterable[Group] = (),
    spaces: Iterable[Space] = (),
    secrets: Mapping[str, str] | None = None,
    confirmed: str = "",
    network: NetworkWish | None = None,
    idempotency_key: str = "",
    wait: timedelta = timedelta(0),
    owner: User | None = None,
) -> Installation:
    """Start an installation for the groups and spaces, or if there are none, for open groups.

    `confirmed` is the digest of the command or address that the person was shown. A package without
    an exact version is looked up first, and then waits for confirmation. A repeated idempotency key
    returns the installation that it started; `wait` bounds the wait for one in progress. An `owner`
    has it alone. ListingHeldError says that a text waits for a review and `by` is no admin.
    """
    groups, spaces, secrets = list(groups), list(spaces), dict(secrets or {})
    places = sorted(group.pk for group in groups), sorted(space.pk for space in spaces)
    network = network or NetworkWish()
    parameters = (*places, sorted(secrets), confirmed, *network.asked)
    digest = request_digest(column_values(descriptor), *parameters)
    if earlier := find_earlier(by, idempotency_key, digest, wait=wait):
        return earlier
    check_not_held(by, descriptor)
    to_show = _check_allowed(by, descriptor, confirmed)
    try:
        with transaction.atomic():
            integration = _prepare_integration(descriptor, owner)
            installation = Installation.objects.create(
                integration=integration,
                descriptor=column_values(descriptor),
                state=State.QUEUED if to_show is None or to_show.is_pinned else State.CONFIGURE,
                by=by,
                command_digest=to_show.digest if to_show else "",
                constraints=list(to_show.bounds) if to_show else [],
                idempotency_key=idempotency_key,
                request_digest=digest,
                message=WAITING,
            )
    except IntegrityError:
        raise AlreadyInstalledError(descriptor.slug) from None
    installation.groups.set(groups)
    installation.spaces.set(spaces)
    # What was chosen for some is for no open group beside them. Choosing nobody lifts nothing.
    if groups or spaces:
        set_restricted(by=by, integration=integration, restricted=True)
    for name, value in {**_defaults(descriptor), **secrets}.items():
        set_secret(integration=integration, name=name, value=value, by=by)
    if descriptor.transport == "stdio":
        set_network(by=by, integration=integration, whole=network.whole, hosts=network.hosts)
    details = {"transport": descriptor.transport, "command_digest": installation.command_digest}
    record(by=by, action="install.start", target=descriptor.slug, details=details)
    send_on_commit(INSTALL, installation.pk)
    return installation


def _defaults(descriptor: IntegrationDescriptor) -> dict[str, str]:
    """Return the values that its source gives for settings; nobody has to enter them."""
    return {
        str(variable["name"]): str(variable["default"])
        for variable in descriptor.source_ref.get("variables") or ()
        if variable.get("default")
        and not (descriptor.transport == "stdio" and refusal_reason(str(variable["name"])))
    }


@transaction.atomic
def confirm_install(*, by: User, installation: Installation, confirmed: str) -> bool:
    """Continue with the version that was found. `confirmed` is the digest of its command."""
    installation.refresh_from_db()
    if installation.state != State.CONFIGURE or not installation.command_digest:
        return False
    if not _may_install(by, installation) or confirmed != installation.command_digest:
        raise NotPermittedError
    if not transition(installation, State.QUEUED, message=WAITING):
        return False
    details = {"command_digest": confirmed}
    record(by=by, action="install.confirm", target=_slug(installation), details=details)
    send_on_commit(INSTALL, installation.pk)
    return True


@transaction.atomic
def cancel_install(*, by: User, installation: Installation) -> bool:
    """Cancel an installation, unless it has ended. Its worker writes nothing more."""
    lock_installed(installation.integration_id)
    installation.refresh_from_db()
    stoppable = (*Installation.WORKING, State.CONFIGURE, State.NEEDS_APPROVAL)
    if installation.state not in stoppable or _is_in_use(installation):
        return False
    if not transition(installation, State.CANCELLED, message="Cancelled."):
        return False
    undo_install(installation)
    record(by=by, action="install.cancel", target=_slug(installation))
    send_on_commit(CLEAN_UP_INSTALLATIONS)
    return True


@transaction.atomic
def retry_install(
    *, by: User, installation: Installation, constraints: Iterable[str] | None = None
) -> bool:
    """Restart an installation that failed, was cancelled or lacked a secret.

    Return False if another one is in progress.

    `constraints` are bounds on the package's dependencies, such as those that were offered.
    """
    lock_integration(installation.integration_id)
    installation.refresh_from_db()
    if installation.state not in _RETRIED:
        return False
    if not _may_install(by, installation):
        raise NotPermittedError
    bounds = installation.constraints if constraints is None else _check_bounds(constraints)
    descriptor = from_json(installation.descriptor)
    to_show = to_confirm(descriptor, bounds) if descriptor.transport == "stdio" else None
    unresolved = to_show is not None and not to_show.is_pinned
    to = State.CONFIGURE if unresolved else State.QUEUED
    try:
        with transaction.atomic():
            moved = transition(installation, to, message=WAITING)
    except IntegrityError:
        return False
    if not moved:
        return False
    installation.constraints, installation.offered = bounds, []
    installation.command_digest = to_show.digest if to_show else ""
    Installation.objects.filter(pk=installation.pk).update(
        attempts=0,
        sent_at=Now(),
        constraints=bounds,
        offered=[],
        command_digest=installation.command_digest,
    )
    details = {"constraints": bounds, "command_digest": installation.command_digest}
    record(by=by, action="install.retry", target=_slug(installation), details=details)
    send_on_commit(INSTALL, installation.pk)
    return True


@transaction.atomic
def approve_seen_install(*, by: User, installation: Installation, digest: str) -> bool:
    """Approve the tools of a waiting installation as they were shown: `digest` is their digest.

    Raises ToolsChangedError if the installation lists others by now.
    """
    lock_installed(installation.integration_id)
    installation.refresh_from_db()
    if installation.state != State.NEEDS_APPROVAL:
        return False
    if digest != tools_digest(installation.tools):
        raise ToolsChangedError
    return approve_install(by=by, installation=installation)


@transaction.atomic
def approve_install(*, by: User, installation: Installation) -> bool:
    """Approve the tools of a waiting installation, exactly as they are now, for a decision that
    has compared them with what was seen."""
    lock_installed(installation.integration_id)
    installation.refresh_from_db()
    if installation.state != State.NEEDS_APPROVAL:
        return False
    first = installation.kind == Installation.Kind.INSTALL
    to = State.EMBEDDING if first else State.QUEUED
    if not transition(installation, to, message=f"Approved by {by}."):
        return False
    installation.approved_by = by
    installation.approved_tools = tools_digest(installation.tools)
    installation.save(update_fields=["approved_by", "approved_tools"])
    if first:
        approve_all(installation)
    details = {"tools": installation.approved_tools}
    record(by=by, action="install.approve", target=_slug(installation), details=details)
    send_on_commit(INSTALL, installation.pk)
    return True


def check_program(descriptor: IntegrationDescriptor) -> CommandToConfirm:
    """Return the command to confirm; CommandNotAllowedError if it may not start."""
    if placeholder := next(
        (part for part in descriptor.command if _PLACEHOLDER.fullmatch(part)), ""
    ):
        raise CommandNotAllowedError(
            _("Replace %(placeholder)s in the command first.") % {"placeholder": placeholder}
        )
    check_variables(descriptor.required_secrets)
    to_show = to_confirm(descriptor)
    command, package = descriptor.command, parse_package(descriptor.command)
    if package is not None and not package.version:
        # Check the launcher before asking an index for the version.
        example = package.at("1" if package.index == "pypi" else "1.0.0")
        command = (command[0], *example.command()[1:])
    check_command(command, Launchers.from_settings())
    return to_show


def check_target(descriptor: IntegrationDescriptor, confirmed: str) -> None:
    """Raise TargetChangedError if the target has changed since it was shown."""
    # Scripts may name a listing without having looked at it: they send no digest.
    if confirmed and confirmed != digest_of_target(descriptor):
        raise TargetChangedError


def _check_allowed(
    by: User, descriptor: IntegrationDescriptor, confirmed: str
) -> CommandToConfirm | None:
    """Check that it may be installed before a row exists. The worker checks again."""
    if descriptor.transport != "stdio":
        if descriptor.transport:
            check_address(descriptor.endpoint, AllowedHosts.from_settings())
            check_target(descriptor, confirmed)
        elif descriptor.kind in Integration.CALLED:
            raise CommandNotAllowedError(_("It has no command to start and no address to contact."))
        return None
    if not by.has_perm("marketplace.install_stdio"):
        raise NotPermittedError
    to_show = check_program(descriptor)
    if to_show.is_pinned and to_show.digest != confirmed:
        raise NotPermittedError
    return to_show


def _prepare_integration(descriptor: IntegrationDescriptor, owner: User | None) -> Integration:
    """Return the integration's row, which nobody can use until the installation is ready."""
    integration = _lock_integration_named(descriptor.slug)
    listing = str(descriptor.source_ref.get("listing") or "")
    came_from = f"the listing {listing}" if listing else "admin"
    if integration and (
        reason := find_installation_clash(integration, descriptor, came_from=came_from)
    ):
        raise NameTakenError(reason)
    if integration and (integration.enabled or integration.state != ReviewState.PENDING):
        raise AlreadyInstalledError(descriptor.slug)
    if integration and integration.owner != owner:
        raise AlreadyInstalledError(descriptor.slug)
    integration = integration or Integration(slug=descriptor.slug, owner=owner)
    integration.restricted = integration.restricted or owner is not None
    (reviewed,) = review_integrations([descriptor])
    for name, value in column_values(reviewed.descriptor).items():
        setattr(integration, name, value)
    integration.listing, integration.came_from = listing, came_from
    integration.unconfirmed = False
    integration.enabled, integration.state = False, ReviewState.PENDING
    needed = Integration.Connection.DISCONNECTED, Integration.Connection.NOT_NEEDED
    integration.connection = needed[0] if descriptor.transport else needed[1]
    integration.save()
    if icon := icon_address(descriptor.source_ref.get("icon")):
        set_icon(integration, icon)
    return integration


def _lock_integration_named(slug: str) -> Integration | None:
    """Lock and read the integration of that name.

    It is read again after the lock: it may have been deleted and recreated while we waited.
    """
    rows = Integration.objects.filter(slug=slug)
    row = rows.first()
    while row is not None:
        lock_integration(row.pk)
        before, row = row, rows.first()
        if row == before:
            break
    return row


def _check_bounds(constraints: Iterable[str]) -> list[str]:
    try:
        return sorted({check_constraint(constraint) for constraint in constraints})
    except NotAPackageError as problem:
        raise CommandNotAllowedError(str(problem)) from None


def _may_install(by: User, installation: Installation) -> bool:
    is_program = installation.descriptor.get("transport") == "stdio"
    return not is_program or by.has_perm("marketplace.install_stdio")


def _is_in_use(installation: Installation) -> bool:
    """Return True for an update that is in use, with only its vectors missing."""
    is_update = installation.kind != Installation.Kind.INSTALL
    return is_update and installation.state == State.EMBEDDING


def _slug(installation: Installation) -> str:
    return installation.integration.slug


def begin_update(
    *,
    by: User,
    integration: Integration,
    descriptor: IntegrationDescriptor,
    kind: Installation.Kind,
    values: Mapping[str, object],
    idempotency_key: str = "",
    digest: str = "",
) -> Installation:
    """Start an update or rollback; AlreadyInstalledError if another one is in progress."""
    lock_integration(integration.pk)
    confirmed = ""
    if descriptor.transport == "stdio":
        confirmed = digest_to_confirm(descriptor, values.get("constraints") or ())  # type: ignore[arg-type]
    try:
        with transaction.atomic():
            installation = Installation.objects.create(
                integration=integration,
                kind=kind,
                descriptor=column_values(descriptor),
                by=by,
                command_digest=confirmed,
                idempotency_key=idempotency_key,
                request_digest=digest,
                message=WAITING,
                **values,
            )
    except IntegrityError:
        raise AlreadyInstalledError(integration.slug) from None
    details = {"version": descriptor.version, "command_digest": confirmed}
    record(by=by, action=f"install.{kind}", target=integration.slug, details=details)
    send_on_commit(INSTALL, installation.pk)
    return installation
