"""Installing, as people ask for it. Workers do what it takes; here only rows are written."""

from collections.abc import Iterable, Mapping
from functools import partial

import structlog
from celery import current_app
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from kombu.exceptions import KombuError

from acl.models import Space
from acl.redis_circuit import attempt
from acl.services.audit import record
from catalog.descriptors import IntegrationDescriptor
from catalog.mcp_client.commands import Launchers, check_command, command_digest
from catalog.models import Integration
from catalog.models.integration import ReviewState
from catalog.outgoing.addresses import AllowedHosts, check_address
from catalog.services.secrets import set_secret
from marketplace.models import Installation
from marketplace.moving import move

log = structlog.get_logger(__name__)
TASK = "servers.install"


class AlreadyThereError(Exception):
    """The integration is installed, or being installed, already."""


class NotPermittedError(Exception):
    """Who asks may not install this kind of server."""


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
    """Begin to install. `confirmed` is the digest of the command that the person was shown.

    With a key that was used before, the installation that it began, whatever else is given.
    """
    if idempotency_key and (earlier := _earlier(by, idempotency_key)):
        return earlier
    digest = _checked(by, descriptor, confirmed)
    try:
        with transaction.atomic():
            integration = _integration(descriptor)
            installation = Installation.objects.create(
                integration=integration,
                by=by,
                command_digest=digest,
                idempotency_key=idempotency_key,
                message="Waits for a worker.",
            )
            installation.groups.set(groups)
            installation.spaces.set(spaces)
            for name, value in (secrets or {}).items():
                set_secret(integration=integration, name=name, value=value, by=by)
            details = {"transport": descriptor.transport, "command_digest": digest}
            record(by=by, action="install.start", target=descriptor.slug, details=details)
            transaction.on_commit(partial(send_install, installation.pk), robust=True)
    except IntegrityError:
        if idempotency_key and (earlier := _earlier(by, idempotency_key)):
            return earlier
        raise AlreadyThereError(descriptor.slug) from None
    return installation


@transaction.atomic
def cancel_install(*, by: User, installation: Installation) -> bool:
    """Stop it, unless it is done: whatever a worker is about to write, it will not."""
    installation.refresh_from_db()
    if installation.state not in (*Installation.WORKING, Installation.State.NEEDS_APPROVAL):
        return False
    if not move(installation, Installation.State.CANCELLED, message="Cancelled."):
        return False
    record(by=by, action="install.cancel", target=installation.integration.slug)
    return True


@transaction.atomic
def retry_install(*, by: User, installation: Installation) -> bool:
    """Begin again what failed or was cancelled; False where another one is under way."""
    installation.refresh_from_db()
    if installation.state not in (Installation.State.FAILED, Installation.State.CANCELLED):
        return False
    try:
        with transaction.atomic():
            moved = move(installation, Installation.State.QUEUED, message="Waits for a worker.")
    except IntegrityError:
        return False
    if moved:
        Installation.objects.filter(pk=installation.pk).update(attempts=0, sent_at=Now())
        record(by=by, action="install.retry", target=installation.integration.slug)
        transaction.on_commit(partial(send_install, installation.pk), robust=True)
    return moved


@transaction.atomic
def approve_install(*, by: User, installation: Installation) -> bool:
    """Let an installation that waits for a person go on."""
    installation.refresh_from_db()
    if installation.state != Installation.State.NEEDS_APPROVAL:
        return False
    if not move(installation, Installation.State.EMBEDDING, message=f"Approved by {by}."):
        return False
    record(by=by, action="install.approve", target=installation.integration.slug)
    transaction.on_commit(partial(send_install, installation.pk), robust=True)
    return True


def send_install(pk: int) -> None:
    """Ask the workers to go on with an installation."""
    send_task(TASK, pk)


def send_task(name: str, *arguments: int) -> None:
    """Ask the process that goes out. Where the queue is away, the sweep asks later."""
    if not attempt(lambda redis: bool(redis.ping()), default=False):
        return
    try:
        current_app.send_task(name, arguments)
    except (KombuError, OSError):
        log.warning("queue is away", task=name, arguments=arguments, exc_info=True)


def _earlier(by: User, key: str) -> Installation | None:
    return Installation.objects.filter(by=by, idempotency_key=key).first()


def _checked(by: User, descriptor: IntegrationDescriptor, confirmed: str) -> str:
    """What may not be installed is refused before a row exists; the worker looks again."""
    if descriptor.transport != "stdio":
        check_address(descriptor.endpoint, AllowedHosts.from_settings())
        return ""
    if not by.has_perm("marketplace.install_stdio"):
        raise NotPermittedError
    check_command(descriptor.command, Launchers.from_settings())
    digest = command_digest(descriptor.command, descriptor.required_secrets)
    if digest != confirmed:
        raise NotPermittedError
    return digest


def _integration(descriptor: IntegrationDescriptor) -> Integration:
    """Its row, which nobody can use before the installation is ready."""
    integration = Integration.objects.filter(slug=descriptor.slug).first()
    if integration and (integration.enabled or integration.state == ReviewState.APPROVED):
        raise AlreadyThereError(descriptor.slug)
    integration = integration or Integration(slug=descriptor.slug)
    for name in (
        "kind", "title", "description", "publisher", "version", "licence", "homepage", "transport",
        "endpoint", "source_ref",
    ):  # fmt: skip
        setattr(integration, name, getattr(descriptor, name))
    integration.command = list(descriptor.command)
    integration.required_secrets = list(descriptor.required_secrets)
    integration.enabled, integration.state = False, ReviewState.PENDING
    integration.connection = Integration.Connection.DISCONNECTED
    integration.save()
    return integration
