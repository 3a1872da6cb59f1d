"""What goes to and fro on one connection, watched: what was asked, and what nobody asked for."""

from types import TracebackType

import anyio
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse

from catalog.servers.client.server_limits import Limits
from catalog.servers.client.server_problems import Reason
from catalog.servers.client.strict_messages import check_message

_WINDOW_SECONDS = 60.0


class Traffic:
    """The state of a connection. `over` is set when it has ended, and `reason` says why."""

    def __init__(self, limits: Limits) -> None:
        self.reason: Reason | None = None
        self.detail = ""
        # What the last HTTP status said, which the SDK does not hand on.
        self.refusal: Reason | None = None
        self.refusal_detail = ""  # the scopes that are missing
        self.over = anyio.Event()
        self._limits = limits
        self._asked: set[str | int] = set()
        self._unasked = self._unasked_bytes = self._garbage = 0
        self._since = 0.0

    def end(self, reason: Reason | None = None, detail: str = "") -> None:
        """The connection is over; the first reason is the one that counts."""
        if reason is not None and self.reason is None:
            self.reason, self.detail = reason, detail
        self.over.set()

    def note_sent(self, message: JSONRPCMessage) -> None:
        """Remember what an answer is expected to."""
        if isinstance(message, JSONRPCRequest):
            self._asked.add(message.id)

    def allows(self, message: JSONRPCMessage, size: int = 0) -> bool:
        """Whether to take this message; if not, the connection is over."""
        if isinstance(message, (JSONRPCResponse, JSONRPCError)) and message.id in self._asked:
            self._asked.discard(message.id)
            return True
        return self._count_unasked(size)

    def allows_garbage(self, size: int) -> bool:
        """Whether to overlook something that is no message."""
        self._garbage += 1
        if self._garbage > self._limits.garbage_lines:
            self.end(Reason.WRONG_ANSWER)
            return False
        return self._count_unasked(size)

    def _count_unasked(self, size: int) -> bool:
        now = anyio.current_time()
        if now - self._since > _WINDOW_SECONDS:
            self._since, self._unasked, self._unasked_bytes = now, 0, 0
        self._unasked += 1
        self._unasked_bytes += size
        if (
            self._unasked > self._limits.unasked_messages
            or self._unasked_bytes > self._limits.unasked_bytes
        ):
            self.end(Reason.FLOODING)
            return False
        return True


class Watched:
    """One of the SDK's transports, with traffic noted both ways."""

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
        """The SDK's dispatcher looks for it."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            item = await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._traffic.end()
            raise
        allowed = (
            self._traffic.allows_garbage(0)
            if isinstance(item, Exception)
            else self._traffic.allows(item.message)
        )
        if not allowed:
            raise anyio.EndOfStream
        if not isinstance(item, Exception):
            item.message = check_message(item.message)
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
        self._traffic.note_sent(item.message)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> "_Writing":
        return self

    async def __aexit__(self, *ending: object) -> None:
        await self.aclose()
