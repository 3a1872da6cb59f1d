"""Connects only to what it has judged itself: the name is looked up once, every answer must be
allowed, and one of these very answers is connected to. A second lookup could say something else."""

import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import anyio
import httpcore2

from catalog.servers.net.address_check import AllowedHosts
from catalog.servers.net.address_ranges import Reach, reach_of
from catalog.servers.net.outgoing_errors import EndpointNotAllowedError, NotReachableError

Resolver = Callable[[str, int], Awaitable[list[str]]]
_TRIED = 3  # of a name's many addresses, so that a long list is no long wait


async def look_up(host: str, port: int) -> list[str]:
    """The addresses of a name, as the system knows them."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """A network for httpcore that refuses private addresses, whatever their names."""

    def __init__(
        self,
        allowed: AllowedHosts,
        *,
        resolve: Resolver = look_up,
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
        """Connect to one of the addresses that the name has now, all of which are allowed."""
        for address in await self._judged(host, port, timeout):
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
        """Never: a socket is a door of this machine."""
        raise EndpointNotAllowedError

    async def sleep(self, seconds: float) -> None:
        """Wait, as httpcore does between attempts."""
        await anyio.sleep(seconds)

    async def _judged(self, host: str, port: int, timeout: float | None) -> list[str]:
        try:
            with anyio.fail_after(timeout):
                addresses = await self._resolve(host, port)
        except (OSError, UnicodeError, TimeoutError):
            raise NotReachableError from None
        wanted = {Reach.PUBLIC}
        if self._allowed.allow(host, port):
            wanted.add(Reach.PRIVATE)
        # One bad answer among good ones is how a name is made to mean something else later.
        if any(reach_of(address) not in wanted for address in addresses):
            raise EndpointNotAllowedError
        return addresses[:_TRIED]
