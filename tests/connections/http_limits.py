"""Limits that end a request to a misbehaving server soon, and pools of connections within them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from catalog.servers.client.targets import ServerLimits
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.net.address_check import AllowedHosts

QUICK = ServerLimits(
    connect_seconds=5,
    list_seconds=5,
    call_seconds=5,
    goodbye_seconds=0.2,
    unsolicited_messages=200,
    body_bytes=1_000_000,
)
LOOPBACK = AllowedHosts.of([("127.0.0.1", None)])


def in_pool(ask: Callable[[ConnectionPool], Awaitable[Any]]) -> Any:
    """Ask a pool of connections of its own."""

    async def run() -> Any:
        connections = ConnectionPool(limits=QUICK, allowed=LOOPBACK)
        try:
            return await ask(connections)
        finally:
            await connections.close_all()

    return asyncio.run(run())
