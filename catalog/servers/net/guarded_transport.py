"""A guarded httpx2 transport: connects to checked addresses only, and bounds responses."""

import re
import socket
import ssl
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from functools import cache
from typing import Any

import anyio
import httpcore2
import httpx2

from catalog.servers.net.address_check import (
    AddressClass,
    AllowedHosts,
    AnswerTooLargeError,
    CompressedAnswerError,
    EndpointNotAllowedError,
    NotReachableError,
    check_address,
    classify_address,
)

MB = 1024 * 1024
# An event stream has no end, so the size limit applies to each window of this many seconds.
EVENTS_SECONDS = 60.0
MAX_IDLE = 3


Resolver = Callable[[str, int], Awaitable[list[str]]]
_MAX_ATTEMPTS = 3  # addresses tried per name, so that a long list causes no long wait


async def resolve_host(host: str, port: int) -> list[str]:
    """Resolve a name with the system's resolver."""
    addresses = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in addresses))


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """A network for httpcore: refuses private addresses, whatever their names."""

    def __init__(
        self,
        allowed: AllowedHosts,
        *,
        resolve: Resolver = resolve_host,
        network: httpcore2.AsyncNetworkBackend | None = None,
    ) -> None:
        self._allowed = allowed
        self._resolve = resolve
        self._network = network or httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to one of the name's addresses, all of which are allowed."""
        for address in await self._resolve_allowed(host, port, timeout):
            try:
                return await self._network.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        raise NotReachableError

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """Refuse: Unix sockets belong to this machine."""
        raise EndpointNotAllowedError

    async def sleep(self, seconds: float) -> None:
        """Sleep between httpcore's attempts."""
        await anyio.sleep(seconds)

    async def _resolve_allowed(self, host: str, port: int, timeout: float | None) -> list[str]:
        try:
            with anyio.fail_after(timeout):
                addresses = await self._resolve(host, port)
        except (OSError, UnicodeError, TimeoutError):
            raise NotReachableError from None
        # DNS rebinding mixes private addresses with public ones: one bad address refuses the name.
        classes = set(map(classify_address, addresses))
        if AddressClass.NEVER in classes:
            raise EndpointNotAllowedError
        if AddressClass.PRIVATE in classes and not self._allowed.allow(host, port):
            raise EndpointNotAllowedError
        return addresses[:_MAX_ATTEMPTS]


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
        # Cheaper to read, and what is sent all the same is bounded on both sides of the expansion.
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
        kind = headers.get("content-type", "")
        most, seconds = (
            self._body_limit(headers),
            EVENTS_SECONDS if kind.lower().startswith("text/event-stream") else None,
        )
        body: httpx2.AsyncByteStream = BoundedStream(answer.stream, most, seconds)
        for encoding in reversed(_encodings(headers)):
            if encoding not in _DECODERS:
                await body.aclose()
                raise CompressedAnswerError(encoding)
            body = BoundedStream(_Expanded(body, encoding), most, seconds)
        if _encodings(headers):
            del headers["content-encoding"]
            headers.pop("content-length", None)
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


class _Expanded(httpx2.AsyncByteStream):
    """A compressed body, expanded in pieces that are small enough to be counted in time."""

    def __init__(self, inner: httpx2.AsyncByteStream, encoding: str) -> None:
        self._inner = inner
        self._encoding = encoding

    async def __aiter__(self) -> AsyncIterator[bytes]:
        decoder, is_first = zlib.decompressobj(_DECODERS[self._encoding]), True
        try:
            async for part in self._inner:
                # False for what some servers send as "deflate": the bare stream.
                if (
                    is_first
                    and self._encoding == "deflate"
                    and not (
                        len(part) > 1
                        and part[0] & 0x0F == 8
                        and (part[0] * 256 + part[1]) % 31 == 0
                    )
                ):
                    decoder = zlib.decompressobj(-zlib.MAX_WBITS)
                is_first = False
                while part:
                    yield decoder.decompress(part, _PIECE)
                    part = decoder.unconsumed_tail
            if not is_first and not decoder.eof:
                raise NotReachableError  # cut off in the middle
        except zlib.error:
            raise NotReachableError from None

    async def aclose(self) -> None:
        await self._inner.aclose()


def _encodings(headers: httpx2.Headers) -> list[str]:
    """Return what was done to the body, in order, in short names."""
    codings = headers.get("content-encoding", "").lower().split(",")
    names = [re.sub(r"[^\w.-]", "", name)[:20] for name in codings]
    return [name for name in names if name and name != "identity"][:_MOST_ENCODINGS]


@cache
def _certificates() -> ssl.SSLContext:
    """Build the TLS context once, since loading all authorities is slow."""
    return httpx2.create_ssl_context(trust_env=False)


_PIECE = 64 * 1024
_MOST_ENCODINGS = 3
_DECODERS = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}
_FAILURES = (
    httpcore2.TimeoutException,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.UnsupportedProtocol,
    OSError,
    ssl.SSLError,
)
