"""Message accounting of one connection: expected responses and unsolicited messages."""

from dataclasses import dataclass
from types import TracebackType

import anyio
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from catalog.servers.client._partial_answers import mend_answer
from catalog.servers.client._readable_json import check_message
from catalog.servers.client.server_problems import Reason
from catalog.servers.client.targets import ServerLimits

_WINDOW_SECONDS = 60.0
_PROGRESS = "notifications/progress"
# So many times the notes of progress that are passed on, before they are a flood.
_PROGRESS_FLOOD = 20


@dataclass(frozen=True, slots=True)
class RequestRefusal:
    """Refusal of one request by its HTTP status; `is_forgotten` if its session is not known."""

    reason: Reason
    detail: str = ""  # missing scopes
    retry_after: float | None = None
    is_forgotten: bool = False


class Traffic:
    """The state of a connection. `over` is set once it has ended, with the `reason`."""

    def __init__(self, limits: ServerLimits) -> None:
        self.reason: Reason | None = None
        self.detail = ""
        # From HTTP statuses, which the SDK does not report: of the opening, which is nobody's call,
        # and of each request by its id. One caller's refusal never explains another's failure.
        self.refusal: RequestRefusal | None = None
        self._refusals: dict[str | int, RequestRefusal] = {}
        # The server does not know this session any more: it was restarted, or it forgot it.
        self.is_forgotten = False
        self.over = anyio.Event()
        self._limits = limits
        # Methods of the requests whose responses are expected, and the negotiated protocol.
        self.expected: dict[str | int, str] = {}
        self.protocol = ""
        self._unsolicited = self._unsolicited_bytes = self._garbage = self._progress = 0
        self._since = 0.0

    def end(self, reason: Reason | None = None, detail: str = "") -> None:
        """End the connection; the first reason wins."""
        if reason is not None and self.reason is None:
            self.reason, self.detail = reason, detail
        self.over.set()

    def record_refusal(self, request: str | int | None, refusal: RequestRefusal) -> None:
        """Remember that a request was refused; without an id, it is the opening that was."""
        self.is_forgotten |= refusal.is_forgotten
        if request is not None and request in self.expected:
            self._refusals[request] = refusal
        if not self.protocol and not refusal.is_forgotten:
            self.refusal = refusal

    def record_sent(self, message: JSONRPCMessage) -> None:
        """Remember a request whose response is expected."""
        if isinstance(message, JSONRPCRequest):
            self.expected[message.id] = message.method

    def is_expected(self, message: JSONRPCMessage) -> bool:
        """Return False for an answer to no request of this connection."""
        if not isinstance(message, (JSONRPCResponse, JSONRPCError)):
            return True
        return message.id is not None and message.id in self.expected

    def allows(self, message: JSONRPCMessage, size: int = 0) -> bool:
        """Return True to accept the message; otherwise the connection has ended."""
        if isinstance(message, (JSONRPCResponse, JSONRPCError)) and message.id in self.expected:
            method, refusal = self.expected.pop(message.id), self._refusals.pop(message.id, None)
            if isinstance(message, JSONRPCError) and refusal is not None:
                message.error.data = refusal  # no server can send such a value
            if isinstance(message, JSONRPCResponse):
                message.result = mend_answer(method, message.result, self.protocol)
            return True
        if isinstance(message, JSONRPCNotification) and message.method == _PROGRESS:
            return self._count_progress(size)
        return self._count_unsolicited(size)

    def is_excess(self, message: JSONRPCMessage) -> bool:
        """Return True for a note of progress that is dropped: its minute had enough of them."""
        is_progress = isinstance(message, JSONRPCNotification) and message.method == _PROGRESS
        return is_progress and self._progress > self._limits.unsolicited_messages

    def _count_progress(self, size: int) -> bool:
        """Count what calls asked for. What is too much is dropped: others use the connection.

        Only a flood that nobody could read ends it.
        """
        self._begin_window()
        self._progress += 1
        self._unsolicited_bytes += size
        if (
            self._progress > _PROGRESS_FLOOD * self._limits.unsolicited_messages
            or self._unsolicited_bytes > self._limits.unsolicited_bytes
        ):
            self.end(Reason.FLOODING)
            return False
        return True

    def tolerates_garbage(self, size: int) -> bool:
        """Return True to skip a line that is no message; otherwise the connection has ended."""
        self._begin_window()
        self._garbage += 1
        if self._garbage > self._limits.garbage_lines:
            self.end(Reason.WRONG_ANSWER, "It writes more than messages to its output.")
            return False
        return self._count_unsolicited(size, messages=0)

    def _begin_window(self) -> None:
        """Begin to count anew each minute: a connection may live for weeks."""
        now = anyio.current_time()
        if now - self._since > _WINDOW_SECONDS:
            self._since = now
            self._unsolicited = self._unsolicited_bytes = self._garbage = self._progress = 0

    def _count_unsolicited(self, size: int, *, messages: int = 1) -> bool:
        self._begin_window()
        self._unsolicited += messages
        self._unsolicited_bytes += size
        if (
            self._unsolicited > self._limits.unsolicited_messages
            or self._unsolicited_bytes > self._limits.unsolicited_bytes
        ):
            self.end(Reason.FLOODING)
            return False
        return True


class MonitoredTransport:
    """An SDK transport whose messages are accounted in both directions."""

    def __init__(self, transport: Transport, traffic: Traffic) -> None:
        self._transport = transport
        self._traffic = traffic

    async def __aenter__(self) -> "tuple[_Reading, _Writing]":
        reading, writing = await self._transport.__aenter__()
        return _Reading(reading, self._traffic), _Writing(writing, self._traffic)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._transport.__aexit__(kind, problem, trace)


class _Reading:
    def __init__(self, inner: object, traffic: Traffic) -> None:
        self._inner: anyio.abc.ObjectReceiveStream[SessionMessage | Exception] = inner  # type: ignore[assignment]
        self._traffic = traffic

    @property
    def last_context(self) -> object:
        """Return the attribute that the SDK's dispatcher reads."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        item = await self._receive()
        while not isinstance(item, Exception) and self._traffic.is_excess(item.message):
            item = await self._receive()
        return item

    async def _receive(self) -> SessionMessage | Exception:
        try:
            item = await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._traffic.end()
            raise
        if not isinstance(item, Exception):
            item.message = check_message(item.message)
        allowed = (
            self._traffic.tolerates_garbage(0)
            if isinstance(item, Exception)
            else self._traffic.allows(item.message)
        )
        if not allowed:
            raise anyio.EndOfStream
        return item

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> "_Reading":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> "_Reading":
        return self

    async def __aexit__(self, *ending: object) -> None:
        await self.aclose()


class _Writing:
    def __init__(self, inner: object, traffic: Traffic) -> None:
        self._inner: anyio.abc.ObjectSendStream[SessionMessage] = inner  # type: ignore[assignment]
        self._traffic = traffic

    async def send(self, item: SessionMessage, /) -> None:
        self._traffic.record_sent(item.message)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> "_Writing":
        return self

    async def __aexit__(self, *ending: object) -> None:
        await self.aclose()
