"""Before a call: does the server still say of the tool what a person has approved?

It is asked in the connection that the call will use, since a server may tell each something else,
and again when the last answer is older than `PEGBOARD_VERIFY_SECONDS`.
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
from catalog.servers.connections.tool_changes import announcements
from catalog.trust.tool_list import digests_of


@dataclass(slots=True)
class _Heard:
    """What one connection's server said last."""

    digests: dict[str, str] = field(default_factory=dict)
    at: float = float("-inf")
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)


_heard: WeakKeyDictionary[Connections, dict[str, _Heard]] = WeakKeyDictionary()


async def check_pin(kept: Connections, key: str, server: Server, name: str, pin: str) -> None:
    """Raise ServerProblemError, with nothing sent, unless the tool is what was approved."""
    heard = _heard.setdefault(kept, {}).setdefault(key, _Heard())
    async with heard.asking:
        if time.monotonic() - heard.at >= settings.PEGBOARD_VERIFY_SECONDS:
            tools = await kept.tools(key, server)
            heard.digests = await asyncio.to_thread(_digests, tools)
            heard.at = time.monotonic()
        digest = heard.digests.get(name)
    if digest != pin:
        announcements(key, Sync.Cause.CALL)
        raise ServerProblemError(Reason.CHANGED)


def attentive_connections() -> Connections:
    """Connections that ask again, and have somebody read, when a server says that its tools have
    changed."""

    def changed(key: str) -> None:
        _heard.get(connections, {}).pop(key, None)
        announcements(key)

    connections = Connections(changed=changed)
    return connections


def _digests(tools: Tools) -> dict[str, str]:
    return digests_of(tools.tools)
