"""What tasks ask of servers: by integration, in the process that holds the connections."""

import time
from concurrent.futures import Future
from typing import Any

from catalog.models import Integration, Secret
from catalog.servers.call_needs import Needs, needs_of
from catalog.servers.client.mcp_session import Result, Tools
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections.connection_params import server_of, tokens_in, waits_for_people
from catalog.servers.connections.definition_check import check_pin
from catalog.servers.connections.event_loop import connection_loop
from catalog.servers.connections.health_history import note_health
from catalog.servers.connections.redaction import Hiding
from catalog.servers.connections.retry import call_patiently
from catalog.servers.connections.session_pool import NO_FAILURE, Connections
from catalog.servers.oauth.scope_step_up import step_up
from catalog.servers.oauth.tokens import distrust
from catalog.servers.secrets.sealed_values import values_for

# Told before by the failures that led to them.
_NOT_NEWS = NO_FAILURE | {Reason.BUSY, Reason.RESTING, Reason.CHANGED, Reason.NOT_CONFIRMED}


def call_tool(
    integration: Integration,
    name: str,
    arguments: dict[str, Any],
    *,
    user_id: int | None = None,
    seconds: float | None = None,
) -> Result:
    """Call a tool over the connection that is kept. Rights are checked by whoever calls this."""
    try:
        calling = begin_call(integration, name, arguments, user_id=user_id, seconds=seconds)
        result = calling.result()
    except ServerProblemError as problem:
        told = note_call(integration, problem, user_id=user_id)
        raise (told or problem) from None
    note_call(integration, None)
    return result


def begin_call(
    integration: Integration,
    name: str,
    arguments: dict[str, Any],
    *,
    user_id: int | None = None,
    seconds: float | None = None,
    again: int = 0,
    needs: Needs | None = None,
) -> Future[Result]:
    """Send a call and wait for nothing; `note_call` is to be told how it went.

    `again` says how often a call may be repeated that may have been carried out: for tools that
    only read; `needs` is what `needs_of` says, where it has been read already. Where a secret is
    missing or does not open, this raises, and nothing is sent.
    """
    needs = needs or needs_of(integration, name)
    values = values_for(integration, user_id=user_id) if needs.secrets else {}
    server = server_of(integration, user_id=user_id, values=values, signed_in=needs.account)
    key, hide = _key(integration, user_id), Hiding([*values.values(), *tokens_in(server)])
    pin = needs.pin

    async def ask(kept: Connections) -> Result:
        try:
            if pin:
                await check_pin(kept, key, server, name, pin)
            return hide.in_result(
                await call_patiently(kept, key, server, name, arguments, seconds, again)
            )
        except ServerProblemError as problem:
            raise hide.in_problem(problem) from None

    return connection_loop.begin(ask)


def note_call(
    integration: Integration, problem: ServerProblemError | None, *, user_id: int | None = None
) -> ServerProblemError | None:
    """Write down what a call says about the server's health, and return what to tell of it. A
    failure with secrets of one's own says nothing: a wrong one would take the server from
    everybody else."""
    if problem is not None:
        if problem.reason is Reason.SCOPE_NEEDED:
            problem = step_up(integration, problem, user_id=user_id)
        if problem.reason is Reason.SIGN_IN_NEEDED:
            distrust(integration, user_id=user_id)
        if problem.reason not in _NOT_NEWS and not _has_own(integration, user_id):
            note_health(integration, problem)
    elif integration.connection != Integration.Connection.CONNECTED:
        note_health(integration)
    return problem


def check_server(integration: Integration) -> Tools:
    """List its tools, and write down how that went."""
    started = time.monotonic()
    try:
        server, key = server_of(integration), _key(integration, None)
        tools = connection_loop.run(lambda kept: kept.tools(key, server))
    except ServerProblemError as problem:
        if problem.reason not in _NOT_NEWS and not _only_for_people(integration, problem):
            note_health(integration, problem, milliseconds=_since(started))
        raise
    note_health(integration, milliseconds=_since(started), tools=len(tools.tools))
    return tools


def close_connection(integration: Integration) -> None:
    """End the connection that everybody shares: it was disabled, changed or removed."""
    connection_loop.run(lambda kept: kept.close(_key(integration, None)))


def _key(integration: Integration, user_id: int | None) -> str:
    """Shared by everybody, unless a person has secrets of their own there."""
    return f"{integration.pk}/{user_id if _has_own(integration, user_id) else 'all'}"


def _has_own(integration: Integration, user_id: int | None) -> bool:
    return (
        user_id is not None
        and integration.own_secrets
        and Secret.objects.filter(integration=integration, user_id=user_id).exists()
    )


def _only_for_people(integration: Integration, problem: ServerProblemError) -> bool:
    """Where everybody has an account of their own, a look without one says nothing."""
    return problem.reason is Reason.SIGN_IN_NEEDED and waits_for_people(integration)


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
