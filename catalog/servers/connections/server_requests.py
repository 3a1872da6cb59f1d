"""Requests of tasks to servers, by integration, in the process that holds the connections."""

import asyncio
import json
import time
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

import anyio

from acl.platform.back_off import BackOff
from acl.platform.task_names import CHECK_INTEGRATION, send_now
from catalog.formats.descriptors import JSONObject
from catalog.formats.icon_choice import icon_address
from catalog.formats.openapi.api_operations import HTTP
from catalog.icons import set_icon
from catalog.models import Capability, Integration, Secret
from catalog.servers.call_needs import CallNeeds, load_call_needs
from catalog.servers.client.conversation import SILENT, Audience, Dialogue, Hear
from catalog.servers.client.mcp_session import ToolResult, Tools
from catalog.servers.client.server_problems import (
    Reason,
    ServerProblemError,
    StillLimitedError,
    failure_class,
)
from catalog.servers.client.targets import DEFAULT_LIMITS, ApiServer, HttpServer, Server
from catalog.servers.connections._definition_check import check_pin, list_definitions
from catalog.servers.connections._session_pool import ConnectionPool, key_for
from catalog.servers.connections.event_loop import connection_loop
from catalog.servers.connections.health_history import record_health
from catalog.servers.connections.params import (
    build_server,
    needs_personal_access,
    sent_tokens,
    values_to_hide,
    with_document,
)
from catalog.servers.oauth.tokens import expire_token, step_up
from catalog.servers.secrets.sealed_values import UsedValues, values_for

# Redaction of a server's own secrets in its responses.

HIDDEN = "[hidden]"
SHORTEST = 6  # shorter values are no real secrets and occur in ordinary words


class SecretRedactor:
    """A redactor for the secrets sent to a server."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # Longest first: one secret may contain another.
        self._texts = sorted((s for s in secrets if len(s) >= SHORTEST), key=len, reverse=True)

    def redact_result(self, result: ToolResult) -> ToolResult:
        """Redact keys and values of a result."""
        parts = (result.content, result.structured, result.required, result.meta)
        if not any(self._contains_secret(part) for part in parts):
            return result
        return ToolResult(
            self._redact(result.content),
            self._redact(result.structured),
            result.is_error,
            self._redact(result.required),
            self._redact(result.meta),
        )

    def redact_problem(self, problem: ServerProblemError) -> ServerProblemError:
        """Redact the detail of a problem."""
        return ServerProblemError(
            problem.reason,
            self._redact(problem.detail),
            sent=problem.sent,
            error=self._redact(problem.error),
            retry_after=problem.retry_after,
        )

    def redact_answer(self, answer: JSONObject) -> JSONObject:
        """Redact keys and values of an answer to another request than a call."""
        redacted: JSONObject = self._redact(answer) if self._contains_secret(answer) else answer
        return redacted

    def _contains_secret(self, value: Any) -> bool:
        if not self._texts or value is None:
            return False
        text = json.dumps(value, ensure_ascii=False)
        return any(json.dumps(secret, ensure_ascii=False)[1:-1] in text for secret in self._texts)

    def _redact(self, value: Any) -> Any:
        if isinstance(value, str):
            for secret in self._texts:
                value = value.replace(secret, HIDDEN)
            return value
        if isinstance(value, dict):
            return {self._redact(key): self._redact(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._redact(inner) for inner in value]
        return value


class RedactedAudience:
    """The client of a call, to which no secret of the server is passed on."""

    def __init__(self, audience: Audience, redactor: SecretRedactor) -> None:
        self._audience, self._redactor = audience, redactor

    def tell(self, method: str, params: JSONObject) -> None:
        """Pass on a notification."""
        self._audience.tell(method, self._redactor.redact_answer(params))

    async def ask(self, method: str, params: JSONObject) -> JSONObject:
        """Return the client's result. Raises CannotAskError."""
        return await self._audience.ask(method, self._redactor.redact_answer(params))


_BETWEEN_CHECKS = 30.0
_checked_at: dict[int, float] = {}
FIRST_PAUSE = 0.5  # the pool's first back-off after a failed connection


def call_tool(
    integration: Integration,
    name: str,
    arguments: dict[str, Any],
    *,
    user_id: int | None = None,
    seconds: float | None = None,
) -> ToolResult:
    """Call a tool over a pooled connection. The caller has checked the rights."""
    try:
        calling = begin_call(integration, name, arguments, user_id=user_id, seconds=seconds)
        result = calling.result()
    except ServerProblemError as problem:
        reported = record_call(integration, problem, user_id=user_id)
        raise (reported or problem) from None
    record_call(integration, None)
    return result


def begin_call(
    integration: Integration,
    name: str,
    arguments: dict[str, Any],
    *,
    user_id: int | None = None,
    seconds: float | None = None,
    again: int = 0,
    needs: CallNeeds | None = None,
    dialogue: Dialogue = SILENT,
) -> Future[ToolResult]:
    """Send a call without waiting; the caller passes its outcome to `record_call`.

    `again` is how often the call may be retried, for tools that only read. `needs` avoids a query
    if read already. Raises, sending nothing, if a secret is missing or cannot be decrypted.
    """
    needs = needs or load_call_needs(integration, name)
    values = values_for(integration, user_id=user_id) if needs.secrets else UsedValues()
    server = build_server(integration, user_id=user_id, values=values, signed_in=needs.account)
    key = key_for(_key(integration, user_id), dialogue.capabilities)
    redactor = SecretRedactor([*values_to_hide(integration, values), *sent_tokens(server)])
    # Raises before anything is sent if the approved definition has changed.
    pin = needs.pin
    sending = _load_sending(integration, name) if isinstance(server, ApiServer) else None

    if dialogue.audience is not None:
        dialogue = replace(dialogue, audience=RedactedAudience(dialogue.audience, redactor))

    async def ask_over(pool: ConnectionPool, key: str) -> ToolResult:
        # An API's operation is sent as its approved definition says: nothing can differ.
        if pin and sending is None:
            await check_pin(pool, key, server, name, pin)
        return await _call_with_retry(
            pool, key, server, name, arguments, seconds, again, sending, dialogue
        )

    async def ask(pool: ConnectionPool) -> ToolResult:
        try:
            if not dialogue.needs_lane or sending is not None:
                return redactor.redact_result(await ask_over(pool, key))
            async with pool.lane(key, seconds) as lane:
                return redactor.redact_result(await ask_over(pool, lane))
        except ServerProblemError as problem:
            raise redactor.redact_problem(problem) from None

    return connection_loop.begin(ask)


def begin_request(
    integration: Integration,
    method: str,
    params: JSONObject,
    *,
    user_id: int | None = None,
    seconds: float,
    capabilities: frozenset[str] = frozenset(),
) -> Future[JSONObject]:
    """Send a request that changes nothing; the caller passes its outcome to `record_call`.

    Raises, sending nothing, if a secret is missing or cannot be decrypted.
    """
    needs = load_call_needs(integration, "")
    values = values_for(integration, user_id=user_id) if needs.secrets else UsedValues()
    server = build_server(integration, user_id=user_id, values=values, signed_in=needs.account)
    key = key_for(_key(integration, user_id), capabilities)
    redactor = SecretRedactor([*values_to_hide(integration, values), *sent_tokens(server)])

    async def ask(pool: ConnectionPool) -> JSONObject:
        try:
            return redactor.redact_answer(
                await pool.request(key, server, method, params, seconds=seconds)
            )
        except ServerProblemError as problem:
            raise redactor.redact_problem(problem) from None

    return connection_loop.begin(ask)


@dataclass(frozen=True, slots=True)
class ServerWatch:
    """A watched server: `running` until cancelled, `ready` once it has agreed."""

    running: Future[None]
    ready: Future[JSONObject]


def begin_watch(
    integration: Integration, uris: frozenset[str], hear: Hear, *, user_id: int | None = None
) -> ServerWatch:
    """Hear of changes of these resources, over the connection that requests use.

    `hear` is called on the connections' loop. Raises, sending nothing, if a secret is missing or
    cannot be decrypted.
    """
    needs = load_call_needs(integration, "")
    values = values_for(integration, user_id=user_id) if needs.secrets else UsedValues()
    server = build_server(integration, user_id=user_id, values=values, signed_in=needs.account)
    key = _key(integration, user_id)
    redactor = SecretRedactor([*values_to_hide(integration, values), *sent_tokens(server)])
    ready: Future[JSONObject] = Future()

    def agreed() -> None:
        ready.set_result({})

    def tell(method: str, params: JSONObject) -> None:
        hear(method, redactor.redact_answer(params))

    async def watch(pool: ConnectionPool) -> None:
        try:
            await pool.watch(key, server, uris, tell, agreed)
        except ServerProblemError as problem:
            redacted = redactor.redact_problem(problem)
            if not ready.done():
                ready.set_exception(redacted)
            raise redacted from None
        finally:
            if not ready.done():
                ready.set_exception(ServerProblemError(Reason.STOPPED))

    return ServerWatch(connection_loop.begin(watch, ends=False), ready)


async def _call_with_retry(
    pool: ConnectionPool,
    key: str,
    server: Server,
    name: str,
    arguments: dict[str, Any],
    seconds: float | None,
    again: int,
    sending: Mapping[str, Any] | None,
    dialogue: Dialogue,
) -> ToolResult:
    """Call, and retry up to `again` times after transient problems."""
    seconds = seconds or DEFAULT_LIMITS.call_seconds
    deadline, pauses = anyio.current_time() + seconds, BackOff(FIRST_PAUSE)
    while True:
        seconds_left = deadline - anyio.current_time()
        try:
            return await pool.call(
                key,
                server,
                name,
                arguments,
                seconds=seconds_left,
                sending=sending,
                dialogue=dialogue,
            )
        except ServerProblemError as problem:
            failure = failure_class(problem.reason)
            pauses.failed(anyio.current_time())
            wait = max(pauses.pause, problem.retry_after or 0)
            may_repeat = failure.unsent or (again > 0 and failure.repeated)
            # Who comes while a limit holds is told when it ends; who met it waits for that.
            is_held = pauses.failures == 1 and isinstance(problem, StillLimitedError)
            if is_held or not may_repeat or anyio.current_time() + wait >= deadline:
                raise
        again -= 1
        await asyncio.sleep(wait)


def _load_sending(integration: Integration, name: str) -> Mapping[str, Any]:
    """Return how an operation is sent, as approved; ServerProblemError if it is not known."""
    rows = Capability.objects.filter(integration=integration, action=name)
    for annotations in rows.values_list("annotations", flat=True):
        if sending := annotations.get(HTTP):
            return dict(sending)
    raise ServerProblemError(Reason.CHANGED)


def record_call(
    integration: Integration, problem: ServerProblemError | None, *, user_id: int | None = None
) -> ServerProblemError | None:
    """Record a call's outcome in the server's health; return the problem to report."""
    if problem is not None:
        if problem.reason is Reason.SCOPE_NEEDED:
            problem = step_up(integration, problem, user_id=user_id)
        if problem.reason in (Reason.SIGN_IN_NEEDED, Reason.NOT_PERMITTED):
            expire_token(integration, user_id=user_id)
        # Failures with personal secrets are not recorded: one wrong password must not disable the
        # server for everyone else.
        failure, is_own = failure_class(problem.reason), _has_own_secrets(integration, user_id)
        if failure.of_call and not is_own:
            record_health(integration, problem)
        elif failure.of_check and not is_own:
            # Check a server after a call that says too little about it; at most twice a minute.
            now = time.monotonic()
            if now - _checked_at.get(integration.pk, -_BETWEEN_CHECKS) >= _BETWEEN_CHECKS:
                _checked_at[integration.pk] = now
                send_now(CHECK_INTEGRATION, integration.pk)
    elif integration.connection != Integration.Connection.CONNECTED and not _has_own_secrets(
        integration, user_id
    ):
        record_health(integration)
    return problem


def check_server(integration: Integration) -> Tools:
    """List the tools, and record the outcome in the server's health."""
    started = time.monotonic()
    try:
        server, key = with_document(build_server(integration), integration), _key(integration, None)
        # An API has no connection that could list its operations: its document does.
        in_pool = not isinstance(server, ApiServer)
        tools = connection_loop.run(
            lambda pool: (
                pool.tools(key, server, list_definitions) if in_pool else pool.probe(server)
            )
        )
    except ServerProblemError as problem:
        # True if the check failed only because each person has an account of their own.
        if failure_class(problem.reason).of_check and not (
            problem.reason is Reason.SIGN_IN_NEEDED and needs_personal_access(integration)
        ):
            record_health(integration, problem, milliseconds=_elapsed_ms(started))
        raise
    record_health(integration, milliseconds=_elapsed_ms(started), tools=len(tools.tools))
    note_announced(integration, tools)
    return tools


def note_announced(integration: Integration, tools: Tools) -> None:
    """Store what the server says of itself: what it offers beside tools, and its icon."""
    if integration.announces != list(tools.announces):
        integration.announces = list(tools.announces)
        integration.save(update_fields=["announces"])
    # Else what its source said.
    set_icon(integration, tools.icon or icon_address(integration.source_ref.get("icon")))


def probe_server(integration: Integration) -> Tools:
    """Start or connect to a server outside the pool, list its tools, and close it."""
    server = with_document(build_server(integration), integration)
    return connection_loop.run(lambda pool: pool.probe(server, list_definitions))


def probe_address(url: str) -> Tools:
    """Connect to an address without any secret, list its tools, and close the connection."""
    return connection_loop.run(lambda pool: pool.probe(HttpServer(url)))


def close_connection(integration: Integration) -> None:
    """Close the shared connection after the integration was disabled, changed or removed."""
    connection_loop.run(lambda pool: pool.close_shared(_key(integration, None)))


def close_all_but(integrations: Collection[int]) -> list[str]:
    """Close the connections of all other integrations; return their keys."""

    async def close(pool: ConnectionPool) -> list[str]:
        gone = [key for key in pool.known_keys() if int(key.partition("/")[0]) not in integrations]
        for key in gone:
            await pool.close(key)
        return gone

    return connection_loop.run(close)


def _key(integration: Integration, user_id: int | None) -> str:
    """Return the connection's key: shared, unless the person has secrets of their own."""
    return f"{integration.pk}/{user_id if _has_own_secrets(integration, user_id) else 'all'}"


def _has_own_secrets(integration: Integration, user_id: int | None) -> bool:
    return (
        user_id is not None
        and integration.own_secrets
        and Secret.objects.filter(integration=integration, user_id=user_id).exists()
    )


def _elapsed_ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
