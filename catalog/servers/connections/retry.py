"""A call that may be repeated, where repeating does no harm, within the time that one call has."""

import asyncio
from typing import Any

import anyio

from catalog.servers.client.mcp_session import Result
from catalog.servers.client.server_limits import DEFAULT_LIMITS
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import Server
from catalog.servers.connections.session_pool import Connections

# What may be otherwise a moment later. A server that refuses will refuse again.
PASSING = frozenset({Reason.CRASHED, Reason.STOPPED, Reason.NOT_REACHABLE, Reason.BUSY})
FIRST_PAUSE = 0.5  # as long as a server is left alone after it could not be connected to


async def call_patiently(
    kept: Connections,
    key: str,
    server: Server,
    name: str,
    arguments: dict[str, Any],
    seconds: float | None,
    again: int,
) -> Result:
    """Call, and up to `again` times more where the connection ended or there was none."""
    seconds = seconds or DEFAULT_LIMITS.call_seconds
    deadline, pause = anyio.current_time() + seconds, FIRST_PAUSE
    while True:
        left = deadline - anyio.current_time()
        try:
            return await kept.call(key, server, name, arguments, seconds=left)
        except ServerProblemError as problem:
            over = anyio.current_time() + pause >= deadline
            if again <= 0 or over or problem.reason not in PASSING:
                raise
        again -= 1
        await asyncio.sleep(pause)
        pause *= 2
