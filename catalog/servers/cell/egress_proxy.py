"""Proxy between a cell's program and the hosts that an admin allowed.

It talks to the program, over the cell's loopback, and to allowed hosts. Names are resolved and
addresses checked here, as for all of Pegboard's own requests; addresses as such are refused. It
runs on the connections' event loop.
"""

import asyncio
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType

import anyio
import httpcore2

from catalog.servers.cell.allowed_hosts import egress_log
from catalog.servers.cell.command import Cell, proxy_variables
from catalog.servers.net.address_check import (
    AllowedHosts,
    OutgoingError,
    is_ip_literal,
    is_public_name,
)
from catalog.servers.net.guarded_transport import GuardedBackend

_HEAD_BYTES = 32_768
_HEAD_SECONDS = 15.0
_CONNECT_SECONDS = 15.0
_IDLE_SECONDS = 600.0
_START_SECONDS = 20.0
_CONNECTIONS = 64
_CHUNK = 65_536
_REQUEST = re.compile(rb"([A-Z]{3,10}) (\S{1,8000}) HTTP/1\.[01]")
_TARGET = re.compile(
    r"(?P<host>[^:/?#@\[\]]{1,253}|\[[0-9a-f:.]{2,60}\])(?::(?P<port>\d{1,5}))?", re.I
)
# The proxy says itself which host is meant: one server may answer for several.
_OWN_HEADERS = re.compile(rb"(?i)(?:proxy-[a-z-]+|connection|keep-alive|host):")
# A bare line feed, or a line that goes on, could hold another header for the server behind.
_HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}:[^\r\n\0]*")
# A body has one length, said once: servers differ in which of two they believe (RFC 9112, 6.3).
_FRAMING = re.compile(rb"(?i)(?:content[-_]length|transfer[-_]encoding)[\s:]")
_FRAMED = re.compile(
    rb"(?i)content-length:[ \t]*[0-9]{1,15}[ \t]*|transfer-encoding:[ \t]*chunked[ \t]*"
)


@dataclass(frozen=True, slots=True)
class ProxyTarget:
    """The destination of a program's request. `head` is sent on, if it is not a tunnel."""

    host: str
    port: int
    head: bytes = b""


class CellProxy:
    """The proxy of one running program."""

    def __init__(
        self,
        cell: Cell,
        backend: httpcore2.AsyncNetworkBackend,
        allowed: AllowedHosts,
        public: httpcore2.AsyncNetworkBackend | None = None,
    ) -> None:
        self._cell = cell
        self._backend = backend
        # For hosts that no rule names: the operator's private ones are not among them.
        self._public = public or backend
        self._allowed = allowed
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._ours: socket.socket | None = None
        self._theirs: socket.socket | None = None

    @classmethod
    def of(cls, cell: Cell) -> "CellProxy":
        """Return the proxy of a cell, as the deployment's settings allow."""
        allowed = AllowedHosts.from_settings()
        return cls(cell, GuardedBackend(allowed), allowed, GuardedBackend(AllowedHosts()))

    async def __aenter__(self) -> "CellProxy":
        if not self._cell.whole_network:
            self._ours, self._theirs = socket.socketpair()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for writer in (self._ours, self._theirs):
            if writer is not None:
                writer.close()

    @property
    def descriptor(self) -> int | None:
        """The guard's end of the channel for the listening socket."""
        return self._theirs.fileno() if self._theirs is not None else None

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The descriptors to pass to the guard."""
        return () if self.descriptor is None else (self.descriptor,)

    @property
    def variables(self) -> Mapping[str, str]:
        """Proxy variables for the program's clients."""
        return {} if self._cell.whole_network else proxy_variables()

    async def serve(self) -> None:
        """Take the cell's listening socket over from the guard, and answer on it."""
        if self._ours is None or self._theirs is None:
            return
        self._theirs.close()
        listening = await anyio.to_thread.run_sync(_receive, self._ours)
        if listening is not None:
            self._server = await asyncio.start_server(
                self._answer, sock=listening, limit=_HEAD_BYTES
            )

    async def close(self) -> None:
        """Stop answering and close all connections."""
        if self._server is not None:
            self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or len(self._tasks) >= _CONNECTIONS:
            writer.close()
            return
        self._tasks.add(task)
        try:
            await self._forward(reader, writer)
        except (OSError, TimeoutError, httpcore2.NetworkError, httpcore2.TimeoutException):
            pass  # either side has gone
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # no request
        except asyncio.CancelledError:
            pass  # closed: asyncio would log a cancelled task of its server as an error
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_HEAD_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        target = parse_request(head)
        if target is None:
            return await _refuse(writer, 400, "This is no request that a proxy could forward.")
        allowed = self._may_reach(target)
        egress_log.note(self._cell.integration, target.host, target.port, allowed=allowed)
        if not allowed:
            words = f"Pegboard: {target.host}:{target.port} is not among this program's hosts."
            return await _refuse(writer, 403, words)
        try:
            out = await self._way_to(target).connect_tcp(target.host, target.port, _CONNECT_SECONDS)
        except OutgoingError as problem:
            return await _refuse(writer, 502, f"Pegboard: {problem}")
        try:
            if target.head:
                await out.write(target.head)
            else:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await _relay(reader, writer, out)
        finally:
            await out.aclose()
        return None

    def _may_reach(self, target: ProxyTarget) -> bool:
        """Return True for an allowed name; this network's names need the operator as well."""
        if is_ip_literal(target.host):
            return False
        if is_public_name(target.host) and self._cell.hosts.allow_public(target.port):
            return True
        if not self._cell.hosts.allow(target.host, target.port):
            return False
        return is_public_name(target.host) or self._allowed.allow(target.host, target.port)

    def _way_to(self, target: ProxyTarget) -> httpcore2.AsyncNetworkBackend:
        is_allowed = self._cell.hosts.allow(target.host, target.port)
        return self._backend if is_allowed else self._public


def parse_request(head: bytes) -> ProxyTarget | None:
    """Return what a request's head asks for: a tunnel, or a plain http address."""
    line, _, rest = head.partition(b"\r\n")
    match = _REQUEST.fullmatch(line)
    if match is None:
        return None
    method, address = match[1], match[2].decode("latin-1")
    if method == b"CONNECT":
        return _target(address, 443, b"")
    scheme, _, rest_of_address = address.partition("://")
    where, _, path = rest_of_address.partition("/")
    if scheme.lower() != "http":
        return None
    headers = [header for header in rest.split(b"\r\n") if header]
    framing = [header for header in headers if _FRAMING.match(header)]
    if not all(map(_HEADER.fullmatch, headers)) or not all(map(_FRAMED.fullmatch, framing)):
        return None
    if len(framing) > 1:
        return None
    remaining = [header for header in headers if not _OWN_HEADERS.match(header)]
    first = b"%s %s HTTP/1.1" % (method, f"/{path}".encode("latin-1"))
    host = f"Host: {where}".encode("latin-1")
    # One request per connection: the next one may be for another host.
    return _target(
        where, 80, b"\r\n".join([first, host, *remaining, b"Connection: close", b"", b""])
    )


def _target(where: str, port: int, head: bytes) -> ProxyTarget | None:
    match = _TARGET.fullmatch(where)
    number = int(match["port"] or port) if match else 0
    if match is None or not 0 < number < 65_536:
        return None
    return ProxyTarget(match["host"].lower().strip("[]").rstrip("."), number, head)


async def _relay(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, out: httpcore2.AsyncNetworkStream
) -> None:
    """Copy both ways until either side ends."""

    async def up() -> None:
        while data := await reader.read(_CHUNK):
            await out.write(data)

    async def down() -> None:
        while data := await out.read(_CHUNK, _IDLE_SECONDS):
            writer.write(data)
            await writer.drain()

    tasks = {asyncio.ensure_future(up()), asyncio.ensure_future(down())}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _refuse(writer: asyncio.StreamWriter, status: int, words: str) -> None:
    body = f"{words}\n".encode()
    head = f"HTTP/1.1 {status} Refused\r\nContent-Type: text/plain; charset=utf-8\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    await writer.drain()


def _receive(channel: socket.socket) -> socket.socket | None:
    """Return the listening socket, or None if the cell could not be made."""
    channel.settimeout(_START_SECONDS)
    try:
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    except OSError:
        return None
    return socket.socket(fileno=descriptors[0]) if descriptors else None
