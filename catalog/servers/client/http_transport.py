"""HTTP transports: the SDK's streams on the guarded network, and the scopes that refusals name."""

import re
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectSendStream
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError

from catalog.servers.client._readable_json import ReadableTransport, read_message
from catalog.servers.client._sdk_errors import tells_of_lost_session
from catalog.servers.client._traffic import MonitoredTransport, RequestRefusal, Traffic
from catalog.servers.client.server_problems import Reason
from catalog.servers.client.targets import HttpServer, ServerLimits
from catalog.servers.net.address_check import (
    AllowedHosts,
    EndpointNotAllowedError,
    OutgoingError,
    check_address,
)
from catalog.servers.net.guarded_transport import GuardedTransport

# The transport of 2024, with an answer to every message that its server refuses.
# The SDK's writer of messages ends at the first that is not accepted, and whoever waits for its
# answer waits in vain. Here it never learns of one: the refusal becomes the answer, on the stream
# from which answers are read, and the messages of others go on.

_KEEPS_METHOD = frozenset({307, 308})
# Each watch of a newer server keeps one, and a process may have a hundred; calls need theirs, too.
_CONNECTIONS = 120
_Messages = MemoryObjectSendStream[SessionMessage | Exception]


class AnsweringClient(httpx2.AsyncClient):
    """Client with every POST accepted; `tell` is called with an error for what was not."""

    tell: Callable[[SessionMessage], object] | None = None

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send the request; a POST that fails is answered with an error."""
        if request.method != "POST":
            return await super().send(request, **options)
        try:
            response = await super().send(request, **options)
        except (httpx2.HTTPError, OutgoingError) as problem:
            self._answer(
                request, "The message could not be sent.", RequestRefusal(_reason_of(problem))
            )
            return httpx2.Response(202, request=request)
        if response.status_code < 300 or _is_followed(response):
            return response
        await response.aclose()
        self._answer(request, f"The message was refused with status {response.status_code}.")
        return httpx2.Response(202, request=request)

    def _answer(
        self, request: httpx2.Request, words: str, refusal: RequestRefusal | None = None
    ) -> None:
        number = read_message(request).get("id")
        if number is not None and self.tell is not None:  # somebody waits for an answer
            error = ErrorData(code=INTERNAL_ERROR, message=words, data=refusal)
            self.tell(SessionMessage(JSONRPCError(jsonrpc="2.0", id=number, error=error)))


def _reason_of(problem: Exception) -> Reason:
    if isinstance(problem, EndpointNotAllowedError):
        return Reason.NOT_ALLOWED
    is_late = isinstance(problem, httpx2.TimeoutException)
    return Reason.NO_ANSWER if is_late else Reason.NOT_REACHABLE


def _is_followed(response: httpx2.Response) -> bool:
    """Return True for a redirect that the SDK follows: the same request within the origin."""
    if response.status_code not in _KEEPS_METHOD:
        return False
    before = response.request.url
    try:
        after = before.join(response.headers.get("location", ""))
    except httpx2.InvalidURL:
        return False
    return (before.scheme, before.host, before.port) == (after.scheme, after.host, after.port)


@asynccontextmanager
async def answered_sse(url: str, client: AnsweringClient) -> AsyncGenerator[Any, None]:
    """Open the SDK's streams; what `client` could not send is read as answered."""
    merged, reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    transport = sse_client(
        url, httpx_client_factory=lambda headers=None, timeout=None, auth=None: client
    )
    async with transport as (inner, writing), reading, anyio.create_task_group() as tasks:
        # In a task of its own: the writer never waits for the reader.
        client.tell = lambda answer: tasks.start_soon(_send, merged, answer)
        tasks.start_soon(_pass_on, inner, merged)
        yield reading, writing
        tasks.cancel_scope.cancel()


async def _pass_on(messages: Any, merged: _Messages) -> None:
    async with merged:
        async for message in messages:
            await _send(merged, message)


async def _send(merged: _Messages, message: SessionMessage | Exception) -> None:
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        await merged.send(message)


# Event streams may be silent for long. Calls have their own deadline.
_READ_TIMEOUT_SECONDS = 3_600.0
# The SDK sends nothing else until a notification is accepted, so a stalled one ends the session.
_NOTIFICATION_SECONDS = 5.0
# Refused, these say that the credential is good for nothing; others are one tool's matter.
_OF_EVERYBODY = frozenset({"", "initialize", "server/discover", "tools/list", "ping"})
_OF_SESSIONS = frozenset({400, 404, 410})
_SESSION = b"session"
_MOST_OF_REFUSAL = 2_000
_MARKUP = re.compile(r"<[^<>]{0,500}>")
_LONGEST_WORDS = 300
_QUOTED = re.compile(r'"([^"]{8,200})"')
MAX_SCOPES = 50
_MAX_SCOPE_CHARACTERS = 200
_Client = TypeVar("_Client", bound=httpx2.AsyncClient)
_TOKEN = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")  # RFC 6749, section 3.3


@asynccontextmanager
async def http_streams(
    server: HttpServer, limits: ServerLimits, traffic: Traffic, allowed: AllowedHosts
) -> AsyncGenerator[Any, None]:
    """Open the streams of an HTTP server; every request's address is checked."""
    check_address(server.url, allowed)
    if server.transport == "sse":
        answering = _client(server.headers, limits, traffic, allowed, AnsweringClient)
        sse = answered_sse(server.url, answering)
        async with MonitoredTransport(sse, traffic) as streams:
            yield streams
        return
    async with _client(server.headers, limits, traffic, allowed, httpx2.AsyncClient) as client:
        transport = streamable_http_client(
            server.url, http_client=client, max_sse_event_size=limits.line_bytes
        )
        async with MonitoredTransport(transport, traffic) as streams:
            yield streams


def _client(
    headers: Mapping[str, str],
    limits: ServerLimits,
    traffic: Traffic,
    allowed: AllowedHosts,
    kind: type[_Client],
) -> _Client:
    async def record_refusal(response: httpx2.Response) -> None:
        if response.status_code < 400:
            return
        message = read_message(response.request)
        method, request = str(message.get("method", "")), message.get("id")
        if (refusal := await _read_refusal(response, method)) is not None:
            traffic.record_refusal(request, refusal)

    async def shorten_notification_timeout(request: httpx2.Request) -> None:
        try:
            body = request.content
        except httpx2.RequestNotRead:  # a redirected request whose body was sent already
            return
        if request.method == "DELETE" or b'"method":"notifications/' in body[:200]:
            request.extensions["timeout"]["read"] = _NOTIFICATION_SECONDS

    return kind(
        transport=ReadableTransport(
            GuardedTransport(allowed, most_bytes=limits.body_bytes, connections=_CONNECTIONS),
            most_line=limits.line_bytes,
        ),
        headers=dict(headers),
        timeout=httpx2.Timeout(limits.connect_seconds, read=_READ_TIMEOUT_SECONDS),
        trust_env=False,
        follow_redirects=False,
        event_hooks={"request": [shorten_notification_timeout], "response": [record_refusal]},
    )


async def _read_refusal(response: httpx2.Response, method: str) -> RequestRefusal | None:
    """Return why a request was refused, as far as the status says it."""
    status, scope = response.status_code, read_missing_scopes(response)
    if scope is not None:
        return RequestRefusal(Reason.SCOPE_NEEDED, scope)
    if status in _OF_SESSIONS and await _forgets_session(response, method):
        return RequestRefusal(Reason.STOPPED, is_forgotten=True)
    if status == 403 and method not in _OF_EVERYBODY:
        return RequestRefusal(Reason.NOT_PERMITTED)  # of this tool, by this person
    if status in (401, 403):
        return RequestRefusal(Reason.SIGN_IN_NEEDED)
    if (limit := read_limit(response)) is not None:
        return RequestRefusal(limit, retry_after=read_retry_after(response))
    if status in (502, 503, 504):
        return RequestRefusal(Reason.NOT_REACHABLE, f"It answers with status {status}.")
    if method in ("", "server/discover") or method.startswith("notifications/"):
        return None
    body = (await response.aread())[:_MOST_OF_REFUSAL].decode(errors="replace")
    if '"jsonrpc"' in body:
        return None  # the SDK reads such an error
    words = " ".join(_MARKUP.sub(" ", body).split())[:_LONGEST_WORDS]
    return RequestRefusal(Reason.REFUSED, f"HTTP {status}. {words}".strip())


def read_limit(response: httpx2.Response) -> Reason | None:
    """Return the limit that an answer tells: a 429, or a 503 that says its end."""
    if response.status_code == 429:
        return Reason.RATE_LIMITED
    says_end = response.status_code == 503 and read_retry_after(response) is not None
    return Reason.ASKS_TO_WAIT if says_end else None


def read_retry_after(response: httpx2.Response) -> float | None:
    """Return the seconds after which a server wants to be asked again, if it says so."""
    value = str(response.headers.get("retry-after", "")).strip()
    if value.isdigit():
        return float(value[:9])
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - time.time())


async def _forgets_session(response: httpx2.Response, method: str) -> bool:
    """Return True if the server does not know the session of a request, which was not run then."""
    request = response.request
    # The transport of 2024 names it in the address, to which nothing else is sent.
    in_address = _SESSION in request.url.query.lower() and method != "initialize"
    if request.method != "POST" or not (in_address or "mcp-session-id" in request.headers):
        return False
    if response.status_code == 404:  # the specification's way to say so
        return True
    body = (await response.aread())[:_MOST_OF_REFUSAL].decode(errors="replace")
    return any(map(tells_of_lost_session, [body, *_QUOTED.findall(body)]))


def read_missing_scopes(response: httpx2.Response) -> str | None:
    """Return the missing scopes named by a response, or None for other responses."""
    if response.status_code not in (401, 403):
        return None
    if extract_field_from_www_auth(response, "error") != "insufficient_scope":
        return None
    return merge_scopes(extract_field_from_www_auth(response, "scope") or "")


def merge_scopes(*scopes: str) -> str:
    """Merge scopes, dropping duplicates and invalid ones."""
    words = [word for scope in scopes for word in scope.split() if _TOKEN.fullmatch(word)]
    return " ".join(
        [word for word in dict.fromkeys(words) if len(word) <= _MAX_SCOPE_CHARACTERS][:MAX_SCOPES]
    )
