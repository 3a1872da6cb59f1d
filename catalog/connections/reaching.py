"""From an integration's row and its secrets to a server that can be asked. Nothing is sent or
started where a secret is missing or does not open."""

import re
from collections.abc import Mapping
from urllib.parse import quote

from catalog.mcp_client.commands import (
    CommandNotAllowedError,
    Launchers,
    check_command,
    check_environment,
)
from catalog.mcp_client.problems import Reason, ServerProblemError
from catalog.mcp_client.servers import HttpServer, Server, StdioServer
from catalog.models import Integration
from catalog.secrets.sealing import values_for

_GAP = re.compile(r"\$\{([A-Za-z_][\w.-]*)\}")


def server_of(integration: Integration, *, user_id: int | None = None) -> Server:
    """How to reach it, with the secrets of the person before those of everybody."""
    values = values_for(integration, user_id=user_id)
    missing = [name for name in integration.required_secrets if name not in values]
    if missing:
        raise ServerProblemError(Reason.SIGN_IN_NEEDED, f"Not set: {', '.join(missing)}")
    try:
        if integration.transport == "stdio":
            return _program(integration, values)
        return _address(integration, values)
    except CommandNotAllowedError as refused:
        raise ServerProblemError(Reason.NOT_ALLOWED, str(refused)) from None
    except ValueError:
        raise ServerProblemError(Reason.SIGN_IN_NEEDED, "A secret cannot be sent.") from None


def _program(integration: Integration, values: Mapping[str, str]) -> StdioServer:
    launchers = Launchers.from_settings()
    check_command(integration.command, launchers)
    filled = tuple(_filled(part, values) for part in integration.command)
    for before, after in zip(integration.command, filled, strict=True):
        if after.startswith("-") and not before.startswith("-"):
            raise ValueError("a secret would be taken for an option")
    return StdioServer(check_command(filled, launchers), check_environment(values))


def _address(integration: Integration, values: Mapping[str, str]) -> HttpServer:
    quoted = {name: quote(value, safe="") for name, value in values.items()}
    return HttpServer(
        _filled(integration.endpoint, quoted),
        _headers(integration, values),
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
