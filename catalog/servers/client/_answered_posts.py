"""The transport of 2024, with an answer to every message that its server refuses.

The SDK's writer of messages ends at the first that is not accepted, and whoever waits for its
answer waits in vain. Here it never learns of one: the refusal becomes the answer, on the stream
from which answers are read, and the messages of others go on.
"""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectSendStream
from mcp.client.sse import sse_client
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError

from catalog.servers.client._traffic import RequestRefusal
from catalog.servers.client.server_problems import Reason
from catalog.servers.net.address_check import EndpointNotAllowedError, OutgoingError

_KEEPS_METHOD = frozenset({307, 308})
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


def read_message(request: httpx2.Request) -> Mapping[str, Any]:
    """Return the message that a request carries, or {}."""
    try:
        message = json.loads(request.content or b"{}")
    except (httpx2.RequestNotRead, ValueError):
        return {}
    return message if isinstance(message, dict) else {}


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
