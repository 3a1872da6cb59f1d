"""Verification, before a call, that a tool's definition is still the approved one.

It uses the call's own connection, since a server may tell each connection something else. The
answer is cached for `PEGBOARD_VERIFY_SECONDS`.
"""

import asyncio
import time
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from django.conf import settings

from catalog.models import Sync
from catalog.servers.client.mcp_session import Tools
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import Server
from catalog.servers.connections.session_pool import Connections
from catalog.servers.connections.tool_changes import schedule_sync
from catalog.trust.tool_list import digest_tools


@dataclass(slots=True)
class _ListedDigests:
    """The digests last listed on one connection."""

    digests: dict[str, str] = field(default_factory=dict)
    at: float = float("-inf")
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


_listed: WeakKeyDictionary[Connections, dict[str, _ListedDigests]] = WeakKeyDictionary()


async def check_pin(pool: Connections, key: str, server: Server, name: str, pin: str) -> None:
    """Raise ServerProblemError, sending no call, unless the tool is the approved one."""
    listed = _listed.setdefault(pool, {}).setdefault(key, _ListedDigests())
    async with listed.lock:
        if time.monotonic() - listed.at >= settings.PEGBOARD_VERIFY_SECONDS:
            tools = await pool.tools(key, server)
            listed.digests = await asyncio.to_thread(_digests, tools)
            listed.at = time.monotonic()
        digest = listed.digests.get(name)
    if digest != pin:
        schedule_sync(key, Sync.Cause.CALL)
        raise ServerProblemError(Reason.CHANGED)


def build_connections() -> Connections:
    """Build connections that schedule a sync when a server reports changed tools."""

    def changed(key: str) -> None:
        _listed.get(connections, {}).pop(key, None)
        schedule_sync(key)

    connections = Connections(changed=changed)
    return connections


def _digests(tools: Tools) -> dict[str, str]:
    return digest_tools(tools.tools)
