"""A network backend connecting to checked addresses only.

It resolves a name once, checks every address, and connects to one of exactly these. A second lookup
could return something else (DNS rebinding).
"""

import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import anyio
import httpcore2

from catalog.servers.net.address_check import AllowedHosts
from catalog.servers.net.address_ranges import AddressClass, classify_address
from catalog.servers.net.outgoing_errors import EndpointNotAllowedError, NotReachableError

Resolver = Callable[[str, int], Awaitable[list[str]]]
_MAX_ATTEMPTS = 3  # addresses tried per name, so that a long list causes no long wait


async def resolve_host(host: str, port: int) -> list[str]:
    """Resolve a name with the system's resolver."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


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
        wanted = {AddressClass.PUBLIC}
        if self._allowed.allow(host, port):
            wanted.add(AddressClass.PRIVATE)
        # DNS rebinding mixes private addresses with public ones: one bad address refuses the name.
        if any(classify_address(address) not in wanted for address in addresses):
            raise EndpointNotAllowedError
        return addresses[:_MAX_ATTEMPTS]
