"""Installing, as people ask for it. Workers do what it takes; here only rows are written."""

import re
from collections.abc import Iterable, Mapping
from functools import partial

import structlog
from celery import current_app
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from kombu.exceptions import KombuError

from acl.audit.recorder import record
from acl.models import Space
from acl.platform.redis_circuit import attempt
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.package_names import NotAPackageError, check_constraint, parse_package
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
from catalog.servers.net.address_check import AllowedHosts, check_address
from catalog.servers.secrets.secret_store import set_secret
from marketplace.installs.command_confirmation import (
    ToConfirm,
    digest_of_target,
    digest_to_confirm,
    to_confirm,
)
from marketplace.installs.idempotency import (
    InProgressError,
    OtherRequestError,
    earlier_of,
    request_digest,
)
from marketplace.installs.install_candidate import read_back, written
from marketplace.installs.install_locks import lock_installed, lock_integration
from marketplace.installs.install_rollback import withdraw
from marketplace.installs.install_state import move
from marketplace.installs.store_step import approve_all
from marketplace.installs.tool_differences import tools_digest
from marketplace.listings.listing_reviews import ListingHeldError, check_not_held
from marketplace.models import Installation

__all__ = [
    "AlreadyThereError",
    "InProgressError",
    "ListingHeldError",
    "NotPermittedError",
    "OtherAddressError",
    "OtherRequestError",
    "OtherThingError",
    "ToConfirm",
    "approve_install",
    "cancel_install",
    "confirm_install",
    "retry_install",
    "send_task",
    "start_install",
    "to_confirm",
]
log = structlog.get_logger(__name__)
State = Installation.State
TASK = "servers.install"
TIDY = "servers.tidy"
_GAP = re.compile(r"\{[A-Za-z_][\w .-]*\}")


class AlreadyThereError(Exception):
    """The integration is installed, or being installed, already."""


class OtherThingError(AlreadyThereError):
    """Something else has the name; the text names both. Its secrets are for it alone."""


class OtherAddressError(Exception):
    """The address, or what is sent there, is not what the person was shown."""

    def __init__(self) -> None:
        super().__init__("The address is another one by now. Look at it again.")


class NotPermittedError(Exception):
    """Who asks may not install this kind of server."""


@transaction.atomic
def start_install(
    *,
    by: User,
    descriptor: IntegrationDescriptor,
    groups: Iterable[Group] = (),
    spaces: Iterable[Space] = (),
    secrets: Mapping[str, str] | None = None,
    confirmed: str = "",
    idempotency_key: str = "",
) -> Installation:
    """Begin to install. `confirmed` is the digest of the command or the address that the person was
    shown; a package without an exact version is looked up first, and then waits to be confirmed.

    With a key that was used before for the same, the installation that it began. Raises
    ListingHeldError where the listing's text waits for a review and `by` is no admin.
    """
    groups, spaces, secrets = list(groups), list(spaces), dict(secrets or {})
    places = sorted(group.pk for group in groups), sorted(space.pk for space in spaces)
    digest = request_digest(written(descriptor), *places, sorted(secrets), confirmed)
    if earlier := earlier_of(by, idempotency_key, digest):
        return earlier
    check_not_held(by, descriptor)
    shown = _checked(by, descriptor, confirmed)
    try:
        with transaction.atomic():
            integration = _integration(descriptor)
            installation = Installation.objects.create(
                integration=integration,
                descriptor=written(descriptor),
                state=State.QUEUED if shown is None or shown.is_pinned else State.CONFIGURE,
                by=by,
                command_digest=shown.digest if shown else "",
                idempotency_key=idempotency_key,
                request_digest=digest,
                message="Waits for a worker.",
            )
    except IntegrityError:
        raise AlreadyThereError(descriptor.slug) from None
    installation.groups.set(groups)
    installation.spaces.set(spaces)
    for name, value in secrets.items():
        set_secret(integration=integration, name=name, value=value, by=by)
    details = {"transport": descriptor.transport, "command_digest": installation.command_digest}
    record(by=by, action="install.start", target=descriptor.slug, details=details)
    _send(installation)
    return installation


@transaction.atomic
def confirm_install(*, by: User, installation: Installation, confirmed: str) -> bool:
    """Go on with the version that was found: `confirmed` is the digest of the command shown."""
    installation.refresh_from_db()
    if installation.state != State.CONFIGURE or not installation.command_digest:
        return False
    if not _may_install(by, installation) or confirmed != installation.command_digest:
        raise NotPermittedError
    if not move(installation, State.QUEUED, message="Waits for a worker."):
        return False
    details = {"command_digest": confirmed}
    record(by=by, action="install.confirm", target=_target(installation), details=details)
    _send(installation)
    return True


@transaction.atomic
def cancel_install(*, by: User, installation: Installation) -> bool:
    """Stop it, unless it is done: whatever a worker is about to write, it will not."""
    lock_installed(installation.integration_id)
    installation.refresh_from_db()
    stoppable = (*Installation.WORKING, State.CONFIGURE, State.NEEDS_APPROVAL)
    if installation.state not in stoppable or _serves(installation):
        return False
    if not move(installation, State.CANCELLED, message="Cancelled."):
        return False
    withdraw(installation)
    record(by=by, action="install.cancel", target=_target(installation))
    transaction.on_commit(partial(send_task, TIDY), robust=True)
    return True


@transaction.atomic
def retry_install(
    *, by: User, installation: Installation, constraints: Iterable[str] | None = None
) -> bool:
    """Begin again what failed or was cancelled; False where another one is under way.

    `constraints` are bounds on what the package needs, such as those that were offered.
    """
    lock_integration(installation.integration_id)
    installation.refresh_from_db()
    if installation.state not in (State.FAILED, State.CANCELLED):
        return False
    if not _may_install(by, installation):
        raise NotPermittedError
    bounds = installation.constraints if constraints is None else _bounds(constraints)
    descriptor = read_back(installation.descriptor)
    shown = to_confirm(descriptor, bounds) if descriptor.transport == "stdio" else None
    unresolved = shown is not None and not shown.is_pinned
    to = State.CONFIGURE if unresolved else State.QUEUED
    try:
        with transaction.atomic():
            moved = move(installation, to, message="Waits for a worker.")
    except IntegrityError:
        return False
    if not moved:
        return False
    installation.constraints, installation.offered = bounds, []
    installation.command_digest = shown.digest if shown else ""
    Installation.objects.filter(pk=installation.pk).update(
        attempts=0,
        sent_at=Now(),
        constraints=bounds,
        offered=[],
        command_digest=installation.command_digest,
    )
    details = {"constraints": bounds, "command_digest": installation.command_digest}
    record(by=by, action="install.retry", target=_target(installation), details=details)
    _send(installation)
    return True


@transaction.atomic
def approve_install(*, by: User, installation: Installation) -> bool:
    """Let an installation that waits for a person go on, with what that person saw and no other."""
    lock_installed(installation.integration_id)
    installation.refresh_from_db()
    if installation.state != State.NEEDS_APPROVAL:
        return False
    first = installation.kind == Installation.Kind.INSTALL
    to = State.EMBEDDING if first else State.QUEUED
    if not move(installation, to, message=f"Approved by {by}."):
        return False
    installation.approved_by = by
    installation.approved_tools = tools_digest(installation.tools)
    installation.save(update_fields=["approved_by", "approved_tools"])
    if first:
        approve_all(installation)
    details = {"tools": installation.approved_tools}
    record(by=by, action="install.approve", target=_target(installation), details=details)
    _send(installation)
    return True


def send_task(name: str, *arguments: int) -> None:
    """Ask the process that goes out. Where the queue is away, the sweep asks later."""
    if not attempt(lambda redis: bool(redis.ping()), default=False):
        return
    try:
        current_app.send_task(name, arguments)
    except (KombuError, OSError):
        log.warning("queue is away", task=name, arguments=arguments, exc_info=True)


def check_program(descriptor: IntegrationDescriptor) -> ToConfirm:
    """What is to be confirmed of a program; CommandNotAllowedError where it may not start."""
    if gap := next((part for part in descriptor.command if _GAP.fullmatch(part)), ""):
        raise CommandNotAllowedError(f"Say first what is to stand for {gap} in the command.")
    check_variables(descriptor.required_secrets)
    shown = to_confirm(descriptor)
    command, package = descriptor.command, parse_package(descriptor.command)
    if package is not None and not package.version:
        # Its launcher has to be allowed before anybody is asked for a version.
        example = package.at("1" if package.index == "pypi" else "1.0.0")
        command = (command[0], *example.command()[1:])
    check_command(command, Launchers.from_settings())
    return shown


def check_target(descriptor: IntegrationDescriptor, confirmed: str) -> None:
    """Raise OtherAddressError if the source has changed the address since it was shown. Scripts may
    name a listing without having looked at it: they send no digest."""
    if confirmed and confirmed != digest_of_target(descriptor):
        raise OtherAddressError


def _checked(by: User, descriptor: IntegrationDescriptor, confirmed: str) -> ToConfirm | None:
    """What may not be installed is refused before a row exists; the worker looks again."""
    if descriptor.transport != "stdio":
        if descriptor.transport:
            check_address(descriptor.endpoint, AllowedHosts.from_settings())
            check_target(descriptor, confirmed)
        elif descriptor.kind == "mcp":
            raise CommandNotAllowedError("There is nothing that Pegboard could start or reach.")
        return None
    if not by.has_perm("marketplace.install_stdio"):
        raise NotPermittedError
    shown = check_program(descriptor)
    if shown.is_pinned and shown.digest != confirmed:
        raise NotPermittedError
    return shown


def _integration(descriptor: IntegrationDescriptor) -> Integration:
    """Its row, which nobody can use before the installation is ready."""
    integration = _ones_turn(descriptor.slug)
    listing = str(descriptor.source_ref.get("listing") or "")
    came_from = f"the listing {listing}" if listing else "admin"
    if integration and (
        reason := find_installation_clash(integration, descriptor, came_from=came_from)
    ):
        raise OtherThingError(reason)
    if integration and (integration.enabled or integration.state != ReviewState.PENDING):
        raise AlreadyThereError(descriptor.slug)
    integration = integration or Integration(slug=descriptor.slug)
    (reviewed,) = review_integrations([descriptor])
    for name, value in written(reviewed.descriptor).items():
        setattr(integration, name, value)
    integration.listing, integration.came_from = listing, came_from
    integration.unconfirmed = False
    integration.enabled, integration.state = False, ReviewState.PENDING
    needed = Integration.Connection.DISCONNECTED, Integration.Connection.NOT_NEEDED
    integration.connection = needed[0] if descriptor.transport else needed[1]
    integration.save()
    return integration


def _ones_turn(slug: str) -> Integration | None:
    """The row of that name, once it is one's turn with it. Whoever had it before may have removed
    it, and somebody else begun anew: then it is another row, whose turn is another, too."""
    rows = Integration.objects.filter(slug=slug)
    row = rows.first()
    while row is not None:
        lock_integration(row.pk)
        before, row = row, rows.first()
        if row == before:
            break
    return row


def _bounds(constraints: Iterable[str]) -> list[str]:
    try:
        return sorted({check_constraint(one) for one in constraints})
    except NotAPackageError as problem:
        raise CommandNotAllowedError(str(problem)) from None


def _may_install(by: User, installation: Installation) -> bool:
    is_program = installation.descriptor.get("transport") == "stdio"
    return not is_program or by.has_perm("marketplace.install_stdio")


def _serves(installation: Installation) -> bool:
    """Whether an update has taken its place already, and only its vectors are still to come."""
    is_update = installation.kind != Installation.Kind.INSTALL
    return is_update and installation.state == State.EMBEDDING


def _send(installation: Installation) -> None:
    transaction.on_commit(partial(send_task, TASK, installation.pk), robust=True)


def _target(installation: Installation) -> str:
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
    """Write the row of an update or of taking one back; AlreadyThereError where another is under
    way."""
    lock_integration(integration.pk)
    confirmed = ""
    if descriptor.transport == "stdio":
        confirmed = digest_to_confirm(descriptor, values.get("constraints") or ())  # type: ignore[arg-type]
    try:
        with transaction.atomic():
            installation = Installation.objects.create(
                integration=integration,
                kind=kind,
                descriptor=written(descriptor),
                by=by,
                command_digest=confirmed,
                idempotency_key=idempotency_key,
                request_digest=digest,
                message="Waits for a worker.",
                **values,
            )
    except IntegrityError:
        raise AlreadyThereError(integration.slug) from None
    details = {"version": descriptor.version, "command_digest": confirmed}
    record(by=by, action=f"install.{kind}", target=integration.slug, details=details)
    _send(installation)
    return installation
