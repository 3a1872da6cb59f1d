"""Confirming imported integrations. Until then none is contacted or started."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from acl.audit.recorder import record
from acl.platform.jobs.task_names import SYNC_INTEGRATION, send_on_commit
from catalog.formats.secret_redaction import redact_arguments, redact_text
from catalog.models import Integration
from catalog.registration.integration_identity import connection_facts
from catalog.servers.client.launch_rules import Launchers, check_command, command_digest
from catalog.servers.net.address_check import AllowedHosts, check_address
from marketplace.installs.command_confirmation import digest_of_target
from marketplace.installs.requests import NotPermittedError
from marketplace.installs.shown_connection import ConnectionLine, connection_lines
from marketplace.installs.state import lock_installed


class OtherTargetError(Exception):
    """Changed target: it differs from the one shown to the person."""


@dataclass(frozen=True, slots=True)
class Target:
    """Target of a confirmation, to be shown in full."""

    transport: str
    endpoint: str
    command: tuple[str, ...]
    required_secrets: tuple[str, ...]
    headers: dict[str, str]
    came_from: str
    digest: str
    connection: tuple[ConnectionLine, ...]

    @property
    def sign_in(self) -> tuple[ConnectionLine, ...]:
        """Facts of how an API is signed in to, and where."""
        return tuple(line for line in self.connection if line.part.startswith("security."))

    @property
    def is_program(self) -> bool:
        """True if it is started on this machine."""
        return self.transport == "stdio"


def target_to_confirm(integration: Integration) -> Target:
    """Return the target of an integration with its digest."""
    facts = connection_facts(integration)
    return Target(
        transport=integration.transport,
        endpoint=integration.endpoint,
        command=tuple(integration.command),
        required_secrets=tuple(integration.required_secrets),
        headers={str(name): str(text) for name, text in dict(facts["headers"]).items()},
        came_from=integration.came_from,
        digest=digest_of_target(integration),
        connection=connection_lines(integration),
    )


@transaction.atomic
def confirm_integration(*, by: User, integration: Integration, confirmed: str) -> bool:
    """Confirm an imported integration. Return False if it is confirmed already.

    Raises OtherTargetError if `confirmed` is not the digest of its current target,
    NotPermittedError for programs without the permission to install them, CommandNotAllowedError
    and EndpointNotAllowedError.
    """
    lock_installed(integration.pk)
    row = Integration.objects.select_for_update().filter(pk=integration.pk).first()
    if row is None or not row.unconfirmed:
        return False
    target = target_to_confirm(row)
    if confirmed != target.digest:
        raise OtherTargetError
    if target.is_program:
        if not by.has_perm("marketplace.install_stdio"):
            raise NotPermittedError
        check_command(target.command, Launchers.from_settings())
    elif target.endpoint:
        check_address(target.endpoint, AllowedHosts.from_settings())
    row.unconfirmed = False
    if target.is_program:
        row.command_digest = command_digest(target.command, target.required_secrets)
    row.save(update_fields=["unconfirmed", "command_digest", "updated_at"])
    details = {
        **connection_facts(row),
        # An address may be a secret itself, and entries are kept for good.
        "endpoint": redact_text(row.endpoint),
        "command": list(redact_arguments(row.command)[0]),
    }
    record(by=by, action="integration.confirm", target=row.slug, details=details)
    send_on_commit(SYNC_INTEGRATION, row.pk)
    return True
