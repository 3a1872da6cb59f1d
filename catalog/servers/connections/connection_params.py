"""From an integration's row and its secrets to a server that can be asked. Nothing is sent or
started where a secret is missing or does not open."""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from django.conf import settings

from catalog.formats.package_names import parse_package
from catalog.models import Integration
from catalog.servers.client.launch_rules import (
    CommandNotAllowedError,
    Launchers,
    check_command,
    check_environment,
    command_digest,
)
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import HttpServer, Sealed, Server, StdioServer
from catalog.servers.oauth.sign_in_error import SignInError
from catalog.servers.oauth.tokens import bearer_for, connection_of
from catalog.servers.secrets.sealed_values import values_for

_GAP = re.compile(r"\$\{([A-Za-z_][\w.-]*)\}")


def server_of(
    integration: Integration,
    *,
    user_id: int | None = None,
    values: Mapping[str, str] | None = None,
    signed_in: bool = True,
) -> Server:
    """How to reach it, with the secrets of the person before those of everybody; `values` are
    these, where they have been read already. Without `signed_in` nobody has an account there.

    Every way to a server leads through here, so here an import that nobody confirmed ends.
    """
    if integration.unconfirmed:
        raise ServerProblemError(Reason.NOT_CONFIRMED)
    values = values_for(integration, user_id=user_id) if values is None else values
    missing = [name for name in integration.required_secrets if name not in values]
    if missing:
        raise ServerProblemError(Reason.SIGN_IN_NEEDED, f"Not set: {', '.join(missing)}")
    try:
        if integration.transport == "stdio":
            return _program(integration, values)
        bearer = _bearer(integration, user_id) if signed_in else {}
        return _address(integration, values, bearer)
    except CommandNotAllowedError as refused:
        raise ServerProblemError(Reason.NOT_ALLOWED, str(refused)) from None
    except ValueError:
        raise ServerProblemError(Reason.SIGN_IN_NEEDED, "A secret cannot be sent.") from None


def tokens_in(server: Server) -> list[str]:
    """What an answer must not repeat, beyond the secrets: the token that was sent."""
    if isinstance(server, StdioServer):
        return []
    return [value.removeprefix("Bearer ") for value in server.headers.values()]


def waits_for_people(integration: Integration) -> bool:
    """Whether it works for those only who have connected their own: nothing to look at without."""
    if not integration.own_secrets or connection_of(integration, None) is not None:
        return False
    own_accounts = integration.oauth_connections.exists()
    values = values_for(integration)
    return own_accounts or any(name not in values for name in integration.required_secrets)


def personal_needs(integration: Integration) -> str:
    """Return what the server needs and only people have, in words; "" where shared ones suffice."""
    values = values_for(integration)
    missing = [name for name in integration.required_secrets if name not in values]
    by_account = integration.own_secrets and integration.oauth_connections.exists()
    if by_account and connection_of(integration, None) is None:
        missing.append("a shared account")
    return ", ".join(missing)


def _program(integration: Integration, values: Mapping[str, str]) -> StdioServer:
    """The command that was confirmed; of a package, what stands for it in the package's place."""
    launchers, package = Launchers.from_settings(), integration.package
    check_command(integration.command, launchers)
    _check_confirmed(integration)
    launch = package.get("launch") or integration.command
    filled = tuple(_filled(part, values) for part in launch)
    for before, after in zip(launch, filled, strict=True):
        if after.startswith("-") and not before.startswith("-"):
            raise ValueError("a secret would be taken for an option")
    checked, environment = check_command(filled, launchers), check_environment(values)
    if not package:
        return StdioServer(checked, environment)
    folder = Path(settings.PEGBOARD_DATA_DIR) / "servers"
    home = folder / f"home-{integration.pk}" if integration.enabled else None
    return StdioServer(
        checked, environment, home, Sealed(folder / package["place"], package["digest"])
    )


def _check_confirmed(integration: Integration) -> None:
    """Nothing starts that differs from what a person has confirmed, or that was not installed."""
    constraints = integration.package.get("constraints", ())
    digest = command_digest(integration.command, integration.required_secrets, constraints)
    if integration.command_digest not in ("", digest):
        raise CommandNotAllowedError("The command is not the one that was confirmed.")
    if parse_package(integration.command) and not integration.package:
        raise CommandNotAllowedError("Its package is not installed here. Install it again.")


def _bearer(integration: Integration, user_id: int | None) -> dict[str, str]:
    """The token of whoever signed in, which goes before a header that a secret makes."""
    try:
        token = bearer_for(integration, user_id=user_id)
    except SignInError as problem:
        raise ServerProblemError(Reason.SIGN_IN_NEEDED, str(problem)) from None
    return {"Authorization": f"Bearer {token}"} if token else {}


def _address(
    integration: Integration, values: Mapping[str, str], bearer: Mapping[str, str]
) -> HttpServer:
    quoted = {name: quote(value, safe="") for name, value in values.items()}
    headers = _headers(integration, values)
    if bearer:
        headers = {n: v for n, v in headers.items() if n.lower() != "authorization"}
    return HttpServer(
        _filled(integration.endpoint, quoted),
        {**headers, **bearer},
        "sse" if integration.transport == "sse" else "http",
    )


def _headers(integration: Integration, values: Mapping[str, str]) -> dict[str, str]:
    """As the source has laid them out; else a secret that is named like a header is one, and a
    single secret is a bearer token."""
    laid_out = integration.source_ref.get("headers")
    if isinstance(laid_out, dict):
        return {str(name): _filled(str(text), values) for name, text in laid_out.items()}
    unused = {n: v for n, v in values.items() if f"${{{n}}}" not in integration.endpoint}
    named = {n: v for n, v in unused.items() if "-" in n or n.lower() == "authorization"}
    if not named and len(unused) == 1:
        return {"Authorization": f"Bearer {next(iter(unused.values()))}"}
    return named


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _GAP.sub(lambda gap: values.get(gap.group(1), gap.group()), text)
