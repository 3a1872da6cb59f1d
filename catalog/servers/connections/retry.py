"""Retries of calls that are safe to repeat, within the time of one call."""

import asyncio
from typing import Any

import anyio

from catalog.servers.client.mcp_session import Result
from catalog.servers.client.server_limits import DEFAULT_LIMITS
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import Server
from catalog.servers.connections.session_pool import Connections

# Transient reasons. A server that refuses will refuse again.
TRANSIENT = frozenset({Reason.CRASHED, Reason.STOPPED, Reason.NOT_REACHABLE, Reason.BUSY})
FIRST_PAUSE = 0.5  # the pool's first back-off after a failed connection


async def call_with_retry(
    pool: Connections,
    key: str,
    server: Server,
    name: str,
    arguments: dict[str, Any],
    seconds: float | None,
    again: int,
) -> Result:
    """Call, and retry up to `again` times after transient problems."""
    seconds = seconds or DEFAULT_LIMITS.call_seconds
    deadline, pause = anyio.current_time() + seconds, FIRST_PAUSE
    while True:
        left = deadline - anyio.current_time()
        try:
            return await pool.call(key, server, name, arguments, seconds=left)
        except ServerProblemError as problem:
            out_of_time = anyio.current_time() + pause >= deadline
            if again <= 0 or out_of_time or problem.reason not in TRANSIENT:
                raise
        again -= 1
        await asyncio.sleep(pause)
        pause *= 2
