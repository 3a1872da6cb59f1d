"""Connection parameters, built from an integration and its secrets.

Nothing is sent or started if a secret is missing or cannot be decrypted.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

from django.conf import settings
from django.db import IntegrityError, close_old_connections, connection, transaction
from django.db.models import F
from django.utils import timezone

from catalog.formats.header_names import DeclaredBy, can_be_sent
from catalog.formats.openapi.api_security import encoded_secrets, find_sign_in
from catalog.formats.package_names import parse_package
from catalog.models import Integration, OutgoingHost
from catalog.models.definition import find_document
from catalog.readiness.obstacles import still_needed
from catalog.servers.cell.allowed_hosts import Attempts, HostRules, egress_log
from catalog.servers.cell.command import Cell, user_of
from catalog.servers.cell.support import cell_problem, cells_required, cells_wanted
from catalog.servers.cell.visible_files import named_folders, program_files
from catalog.servers.client.launch_rules import (
    COMPILED,
    CommandNotAllowedError,
    Launchers,
    check_command,
    check_environment,
    command_digest,
    is_container,
)
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import ApiServer, HttpServer, Sealed, Server, StdioServer
from catalog.servers.net.address_check import EndpointNotAllowedError, OutgoingError
from catalog.servers.oauth.authorization_client import SignInError
from catalog.servers.oauth.tokens import find_connection, get_bearer_token, renew_own_account
from catalog.servers.secrets.sealed_values import UsedValues, values_for

# Attempts of programs to reach hosts, counted in rows.

# Names that a program made up must not fill the table.
MOST_HOSTS = 100
_KEPT = timedelta(days=90)


def store_attempts(attempts: Attempts) -> None:
    """Add the attempts to the rows of their integrations."""
    for (integration, host, allowed), times in attempts.items():
        _add(integration, host, times, allowed=allowed)


def _store_in_thread(attempts: Attempts) -> None:
    close_old_connections()
    try:
        store_attempts(attempts)
    finally:
        connection.close()


def _add(integration: int, host: str, times: int, *, allowed: bool) -> None:
    rows = OutgoingHost.objects.filter(integration=integration)
    now = timezone.now()
    if rows.filter(host=host).update(times=F("times") + times, allowed=allowed, last_at=now):
        return
    rows.filter(last_at__lt=now - _KEPT).delete()
    if rows.count() >= MOST_HOSTS or not Integration.objects.filter(pk=integration).exists():
        return
    try:
        with transaction.atomic():
            OutgoingHost.objects.create(
                integration_id=integration, host=host, times=times, allowed=allowed, last_at=now
            )
    except IntegrityError:
        pass  # uninstalled meanwhile, or another thread was first


egress_log.store = _store_in_thread


# stores what cells log


# The cell of an integration's program, by its command, its package, and what an admin allowed.


def check_cell(command: Sequence[str]) -> None:
    """Raise ServerProblemError if cells are required and none can be made."""
    if cells_required() and not is_container(command) and (problem := cell_problem()):
        raise ServerProblemError(Reason.NO_CELL, problem)


def cell_of(
    integration: Integration, command: Sequence[str], place: Path | None = None
) -> Cell | None:
    """Return the cell of a checked command; None if it runs as Pegboard's own account does."""
    check_cell(command)
    if not cells_wanted() or is_container(command) or cell_problem():
        return None
    readable, writable = named_folders(command)
    return Cell(
        readable=(*program_files(command), *([place] if place else []), *readable),
        writable=tuple(writable),
        whole_network=integration.network == Integration.Network.ALL,
        hosts=HostRules(tuple(integration.allowed_hosts)),
        integration=integration.pk,
        user=user_of(integration.pk),
    )


_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][\w.-]*)\}")


def build_server(
    integration: Integration,
    *,
    user_id: int | None = None,
    values: UsedValues | None = None,
    signed_in: bool = True,
) -> Server:
    """Build the target of a connection, with personal secrets before shared ones.

    A personal one that steers the call goes with nothing shared: neither secrets nor an account.

    `values` are the decrypted secrets, if read already; without `signed_in` there is no account.
    """
    # Every connection is built here, so this stops unconfirmed imports everywhere.
    if integration.unconfirmed:
        raise ServerProblemError(Reason.NOT_CONFIRMED)
    values = values_for(integration, user_id=user_id) if values is None else values
    if missing := values.in_use.missing(integration):
        raise ServerProblemError(Reason.SIGN_IN_NEEDED, f"Not set: {', '.join(missing)}")
    try:
        if integration.transport == "stdio":
            return _stdio_server(integration, values, user_id)
        if signed_in:
            _check_own_account(integration, values, user_id)
        if integration.transport == "openapi":
            return _api_server(integration, values, user_id, signed_in=signed_in)
        token = _account_token(integration, values, user_id) if signed_in else ""
        return _http_server(integration, values, token)
    except CommandNotAllowedError as refused:
        raise ServerProblemError(Reason.NOT_ALLOWED, str(refused)) from None
    except ValueError:
        raise ServerProblemError(Reason.SIGN_IN_NEEDED, "A secret cannot be sent.") from None


def check_launch(integration: Integration) -> None:
    """Raise ServerProblemError if the program may not be started here; starts nothing."""
    try:
        check_command(integration.command, Launchers.from_settings())
        _check_confirmed(integration)
        check_cell(integration.command)
    except CommandNotAllowedError as refused:
        raise ServerProblemError(Reason.NOT_ALLOWED, str(refused)) from None


def _defaults_of(integration: Integration) -> dict[str, str]:
    """Return the values of settings that the source shows, by their names."""
    declared = integration.source_ref.get("variables")
    return {
        str(variable.get("name")): str(variable["default"])
        for variable in (declared if isinstance(declared, list) else ())
        if isinstance(variable, dict) and variable.get("default")
    }


def values_to_hide(integration: Integration, values: Mapping[str, str]) -> list[str]:
    """Return the values that results must not repeat: all but settings that the source shows."""
    defaults = _defaults_of(integration).items()
    return [value for name, value in values.items() if (name, value) not in defaults]


def sent_tokens(server: Server) -> list[str]:
    """Return the header values sent along, which results must not repeat."""
    if isinstance(server, StdioServer):
        return []
    if isinstance(server, ApiServer):
        return encoded_secrets(server.schemes, server.values)
    return [value.removeprefix("Bearer ") for value in server.headers.values()]


def with_document(server: Server, integration: Integration) -> Server:
    """Return the target with the text or address of its document, which only listing needs."""
    if not isinstance(server, ApiServer):
        return server
    document = find_document(integration)
    if document is None:
        raise ServerProblemError(Reason.WRONG_ANSWER, "Its OpenAPI document is gone. Add it again.")
    chosen = integration.source_ref.get("chosen") or {}
    # What an admin was shown is what is installed; later changes are compared with it.
    if integration.enabled and document.address:
        return replace(server, document_url=document.address, chosen=chosen)
    return replace(server, document=document.text, document_url="", chosen=chosen)


def needs_personal_access(integration: Integration) -> bool:
    """Return True if only people with their own secrets or account can use the server."""
    if not integration.own_secrets or find_connection(integration, None) is not None:
        return False
    own_accounts = integration.oauth_connections.exists()
    values = values_for(integration)
    needed = still_needed(integration.required_secrets, integration.source_ref, values)
    return own_accounts or bool(needed)


def _stdio_server(integration: Integration, values: UsedValues, user_id: int | None) -> StdioServer:
    """Build a stdio target: the confirmed command, or the installed program of its package."""
    launchers, package = Launchers.from_settings(), integration.package
    check_command(integration.command, launchers)
    _check_confirmed(integration)
    launch = package.get("launch") or integration.command
    filled = tuple(_fill_placeholders(part, values) for part in launch)
    for before, after in zip(launch, filled, strict=True):
        if after.startswith("-") and not before.startswith("-"):
            raise ValueError("the value of a secret would become an option")
    checked, environment = check_command(filled, launchers), check_environment(values)
    if not package:
        return StdioServer(checked, environment, cell=cell_of(integration, checked))
    folder = Path(settings.PEGBOARD_DATA_DIR) / "servers"
    # What a program keeps of a person's values is not for calls of others.
    whose = f"-{user_id}" if values.in_use.own else ""
    home = folder / f"home-{integration.pk}{whose}" if integration.enabled else None
    place = folder / package["place"]
    cell = cell_of(integration, checked, place)
    compiled = str(package.get("compiled", ""))
    if compiled:
        prefix = ("-X", f"pycache_prefix={place / COMPILED}")
        checked = (checked[0], *prefix, *checked[1:])
    sealed = Sealed(place, package["digest"], compiled)
    return StdioServer(checked, environment, home, sealed, cell)


def _check_confirmed(integration: Integration) -> None:
    """Refuse a command other than the confirmed one, or a package that is not installed."""
    constraints = integration.package.get("constraints", ())
    digest = command_digest(integration.command, integration.required_secrets, constraints)
    if integration.command_digest not in ("", digest):
        raise CommandNotAllowedError("The command is not the one that was confirmed.")
    if parse_package(integration.command) and not integration.package:
        raise CommandNotAllowedError("Its package is not installed here. Install it again.")


def _check_own_account(integration: Integration, values: UsedValues, user_id: int | None) -> None:
    """Refuse a call that a person's value steers and that only the shared account would sign in."""
    if not values.in_use.alone or values.in_use.has_credential:
        return
    account = find_connection(integration, user_id, shared=False)
    if account is None and find_connection(integration, None) is not None:
        raise ServerProblemError(Reason.SIGN_IN_NEEDED, "The shared account is not sent there.")


def _account_token(integration: Integration, values: UsedValues, user_id: int | None) -> str:
    """Return the access token of the account; "" if there is none."""
    shared = not values.in_use.own
    try:
        if shared:
            renew_own_account(integration)  # does nothing but for APIs with an account of their own
        return get_bearer_token(integration, user_id=user_id, shared=shared) or ""
    except SignInError as problem:
        reason = Reason.TOKEN_UNAVAILABLE if problem.may_pass else Reason.SIGN_IN_NEEDED
        raise ServerProblemError(reason, str(problem)) from None
    except EndpointNotAllowedError as problem:
        raise ServerProblemError(Reason.SIGN_IN_NEEDED, str(problem)) from None
    except OutgoingError as problem:
        raise ServerProblemError(Reason.TOKEN_UNAVAILABLE, str(problem)) from None


def _http_server(integration: Integration, values: Mapping[str, str], token: str) -> HttpServer:
    quoted = {name: quote(value, safe="") for name, value in values.items()}
    headers = _headers(integration, values)
    # An account's token takes precedence over a header made from a secret.
    if token:
        headers = {n: v for n, v in headers.items() if n.lower() != "authorization"}
        headers["Authorization"] = f"Bearer {token}"
    endpoint = _fill_placeholders(integration.endpoint, {**_defaults_of(integration), **quoted})
    return HttpServer(
        endpoint,
        headers,
        "sse" if integration.transport == "sse" else "http",
    )


def _api_server(
    integration: Integration, values: UsedValues, user_id: int | None, *, signed_in: bool
) -> ApiServer:
    stored = integration.source_ref.get("security")
    schemes = stored if isinstance(stored, dict) else {}
    name, sign_in = find_sign_in(schemes)
    # The account of Pegboard's own client is made by the first call that needs it.
    has_account = bool(sign_in) and (signed_in or "grant" in sign_in)
    token = _account_token(integration, values, user_id) if has_account else ""
    # An account's token takes precedence over one that was entered.
    account = dict.fromkeys(schemes[name]["secrets"], token) if token else {}
    return ApiServer(integration.endpoint, schemes, {**values, **account})


def _headers(integration: Integration, values: Mapping[str, str]) -> dict[str, str]:
    """Return the declared headers; otherwise derive them from the secrets.

    A secret named like a header becomes that header; a single secret becomes a bearer token.
    """
    laid_out = integration.source_ref.get("headers")
    if isinstance(laid_out, dict):
        filled = {
            str(name): _fill_placeholders(str(text), values) for name, text in laid_out.items()
        }
        # One that was not required, and for which no value is set, is not sent.
        return {name: text for name, text in filled.items() if not _PLACEHOLDER.search(text)}
    unused = {n: v for n, v in values.items() if f"${{{n}}}" not in integration.endpoint}
    header_values = {
        n: v
        for n, v in unused.items()
        if ("-" in n or n.lower() == "authorization") and can_be_sent(n, DeclaredBy.SERVER)
    }
    if not header_values and len(unused) == 1:
        return {"Authorization": f"Bearer {next(iter(unused.values()))}"}
    return header_values


def _fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda gap: values.get(gap.group(1), gap.group()), text)
