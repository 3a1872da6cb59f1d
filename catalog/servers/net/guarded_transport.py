"""An httpx2 transport on the guarded backend: judges each request's address, and bounds answers."""

import ssl
from collections.abc import AsyncIterable, AsyncIterator
from functools import cache

import anyio
import httpcore2
import httpx2

from catalog.servers.net.address_check import AllowedHosts, check_address
from catalog.servers.net.guarded_backend import GuardedBackend
from catalog.servers.net.outgoing_errors import AnswerTooLargeError, NotReachableError

MB = 1024 * 1024
# A stream of events has no end: this many seconds have the allowance of a whole answer.
EVENTS_SECONDS = 60.0
MOST_IDLE = 3


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Every request passes `check_address` and every connection the backend.

    It is built on httpcore2's public pool: httpx2's own transport takes no network of ours.
    """

    def __init__(
        self,
        allowed: AllowedHosts,
        *,
        most_bytes: int = 5 * MB,
        backend: GuardedBackend | None = None,
        connections: int = 10,
    ) -> None:
        self._allowed = allowed
        self._most_bytes = most_bytes
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=_certificates(),
            max_connections=connections,
            # Each that idles is asked twice with every request whether it still lives.
            max_keepalive_connections=min(connections, MOST_IDLE),
            keepalive_expiry=30,
            network_backend=backend or GuardedBackend(allowed),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Ask, once the address is judged; whatever fails on the way is one and the same error."""
        url = check_address(request.url, self._allowed)
        # A compressed answer would have to be unpacked before anybody knows its size.
        request.headers["accept-encoding"] = "identity"
        try:
            answer = await self._pool.handle_async_request(
                httpcore2.Request(
                    method=request.method,
                    url=httpcore2.URL(
                        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                    ),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        except _FAILURES:
            raise NotReachableError from None
        headers = httpx2.Headers(answer.headers)
        body = BoundedStream(answer.stream, self._limit_of(headers), _window_of(headers))
        if headers.get("content-encoding", "identity").lower() != "identity":
            await body.aclose()
            raise NotReachableError
        return httpx2.Response(
            answer.status, headers=headers, stream=body, extensions=answer.extensions
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()

    def _limit_of(self, headers: httpx2.Headers) -> int:
        """How much is read; nothing of what says itself that it is more."""
        told = headers.get("content-length", "0")
        return 0 if told.isdigit() and int(told) > self._most_bytes else self._most_bytes


class BoundedStream(httpx2.AsyncByteStream):
    """A body that ends in AnswerTooLargeError after `most` bytes, within `seconds` if given."""

    def __init__(self, inner: object, most: int, seconds: float | None) -> None:
        assert isinstance(inner, AsyncIterable)  # noqa: S101 - httpcore's types allow the other kind
        self._inner = inner
        self._most = most
        self._seconds = seconds

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken, since = 0, anyio.current_time()
        try:
            async for part in self._inner:
                now = anyio.current_time()
                if self._seconds is not None and now - since > self._seconds:
                    taken, since = 0, now
                taken += len(part)
                if taken > self._most:
                    raise AnswerTooLargeError
                yield part
        except _FAILURES:
            raise NotReachableError from None

    async def aclose(self) -> None:
        """Give the connection back, or close it where not all was read."""
        close = getattr(self._inner, "aclose", None)
        if close is not None:
            await close()


def _window_of(headers: httpx2.Headers) -> float | None:
    kind = headers.get("content-type", "")
    return EVENTS_SECONDS if kind.lower().startswith("text/event-stream") else None


@cache
def _certificates() -> ssl.SSLContext:
    """Made once, since reading all authorities takes a while."""
    return httpx2.create_ssl_context(trust_env=False)


_FAILURES = (
    httpcore2.TimeoutException,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.UnsupportedProtocol,
    OSError,
    ssl.SSLError,
)
