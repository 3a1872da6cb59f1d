"""An httpx2 transport on the guarded backend: checks addresses and bounds responses."""

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
# An event stream has no end, so the size limit applies to each window of this many seconds.
EVENTS_SECONDS = 60.0
MAX_IDLE = 3


class GuardedTransport(httpx2.AsyncBaseTransport):
    """A transport checking every request and every connection.

    It uses httpcore2's public pool, because httpx2's own transport accepts no custom backend.
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
            # httpcore checks every idle connection twice per request.
            max_keepalive_connections=min(connections, MAX_IDLE),
            keepalive_expiry=30,
            network_backend=backend or GuardedBackend(allowed),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request to a checked address; every failure is a NotReachableError."""
        url = check_address(request.url, self._allowed)
        # A compressed body could expand without limit.
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
        body = BoundedStream(answer.stream, self._body_limit(headers), _window_seconds(headers))
        # The server ignored accept-encoding: refuse, because decompression has no limit.
        if headers.get("content-encoding", "identity").lower() != "identity":
            await body.aclose()
            raise NotReachableError
        return httpx2.Response(
            answer.status, headers=headers, stream=body, extensions=answer.extensions
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()

    def _body_limit(self, headers: httpx2.Headers) -> int:
        """Return the body's limit; 0 if its declared length exceeds it."""
        declared = headers.get("content-length", "0")
        return 0 if declared.isdigit() and int(declared) > self._most_bytes else self._most_bytes


class BoundedStream(httpx2.AsyncByteStream):
    """A body limited to `most` bytes, per window of `seconds` if given."""

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
        """Return the connection to the pool, or close it if the body was not read completely."""
        close = getattr(self._inner, "aclose", None)
        if close is not None:
            await close()


def _window_seconds(headers: httpx2.Headers) -> float | None:
    kind = headers.get("content-type", "")
    return EVENTS_SECONDS if kind.lower().startswith("text/event-stream") else None


@cache
def _certificates() -> ssl.SSLContext:
    """Build the TLS context once, since loading all authorities is slow."""
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
