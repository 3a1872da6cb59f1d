"""Definitions of tools: read with all that is reviewed, and verified before a call.

It uses the call's own connection, since a server may tell each connection something else. The
answer is cached for `PEGBOARD_VERIFY_SECONDS`. A change triggers a sync, and so does a server's
notification of one.
"""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import anyio
from django.conf import settings

from acl.platform.back_off import BackOff
from acl.platform.task_names import SYNC_INTEGRATION, send_now
from catalog.formats.descriptors import JSONObject
from catalog.formats.readers.tool import page_address, with_policy
from catalog.models import Sync
from catalog.servers.client.api_session import ApiSession
from catalog.servers.client.mcp_session import Tools
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import Server
from catalog.servers.connections._session_pool import AnySession, ConnectionPool, list_tools
from catalog.trust.tool_list import OF_LIST, digest_tools

# A server that changes a dozen tools sends a dozen notifications.
WAIT_SECONDS = 2.0
MOST_WAIT_SECONDS = 3_600.0


class SyncDebouncer:
    """A debouncer: one sync for all notifications within a moment.

    Notifications that arrive after it was sent start the next one. A list that goes on changing is
    read less and less often, an hour apart at last: what changed meanwhile is one difference. No
    call waits for it, since each compares the tool's definition before. It runs on the connections'
    event loop, so it never blocks and reads no database.
    """

    def __init__(self, wait_seconds: float = WAIT_SECONDS) -> None:
        self._wait_seconds = wait_seconds
        self._scheduled: set[int] = set()
        self._pauses: dict[int, BackOff] = {}

    def __call__(self, key: str, cause: str = "announced") -> None:
        """Schedule a sync of a connection's server."""
        integration = int(key.split("/")[0])
        if integration in self._scheduled:
            return
        self._scheduled.add(integration)
        loop = asyncio.get_running_loop()
        pause = self._pauses.setdefault(integration, BackOff(self._wait_seconds, MOST_WAIT_SECONDS))
        if loop.time() - pause.until >= 2 * pause.pause:  # quiet for so long
            pause.succeeded()
        pause.failed(loop.time())
        loop.call_later(pause.pause, self._send, integration, cause)

    def _send(self, integration: int, cause: str) -> None:
        self._scheduled.discard(integration)
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, send_now, SYNC_INTEGRATION, integration, cause)


schedule_sync = SyncDebouncer()


@dataclass(slots=True)
class _ListedDigests:
    """The digests last listed on one connection."""

    digests: dict[str, str] = field(default_factory=dict)
    at: float = float("-inf")
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


_listed: WeakKeyDictionary[ConnectionPool, dict[str, _ListedDigests]] = WeakKeyDictionary()


async def check_pin(pool: ConnectionPool, key: str, server: Server, name: str, pin: str) -> None:
    """Raise ServerProblemError, sending no call, unless the tool is the approved one."""
    listed = _listed.setdefault(pool, {}).setdefault(key, _ListedDigests())
    async with listed.lock:
        if time.monotonic() - listed.at >= settings.PEGBOARD_VERIFY_SECONDS:
            tools = await pool.tools(key, server)
            listed.digests = await asyncio.to_thread(_digests, tools)
            listed.at = time.monotonic()
        digest = listed.digests.get(name, "")
    if digest[:OF_LIST] != pin[:OF_LIST]:
        schedule_sync(key, Sync.Cause.CALL)
        raise ServerProblemError(Reason.CHANGED)


MOST_PAGES = 20
_MOST_LISTS = 5
_POLICY_SECONDS = 10.0
# A larger page would end a connection over standard streams, which reads whole lines.
_LARGEST_LINE = 500_000


async def list_definitions(session: AnySession) -> Tools:
    """List the tools, each with the content policy of its app's page; `unread` names other pages.

    A server says the policy in its list of resources, or else on the page itself.
    """
    tools = await list_tools(session)
    uris = {page_address(tool.get("_meta")) for tool in tools.tools} - {""}
    if isinstance(session, ApiSession) or not uris or "resources" not in tools.announces:
        return tools
    policies, unread = dict[str, JSONObject](), set(uris)
    with anyio.move_on_after(_POLICY_SECONDS):
        resources, params = dict[str, JSONObject](), dict[str, Any]()
        with suppress(ServerProblemError):
            for _ in range(_MOST_LISTS):
                page = await session.request("resources/list", params)
                entries = page.get("resources")
                for entry in entries if isinstance(entries, list) else ():
                    if isinstance(entry, dict) and entry.get("uri") in uris:
                        resources[entry["uri"]] = entry
                if not isinstance(cursor := page.get("nextCursor"), str):
                    break
                params = {"cursor": cursor}
        for uri in sorted(uris)[:MOST_PAGES]:
            entry = resources.get(uri, {})
            policy, size = _policy_of(entry), entry.get("size")
            is_small = isinstance(size, int) and size <= _LARGEST_LINE
            if policy is None and (session.is_http or is_small):
                try:
                    page = await session.request("resources/read", {"uri": uri})
                except ServerProblemError:
                    continue
                contents = page.get("contents")
                policy = _policy_of(contents[0] if isinstance(contents, list) and contents else {})
            elif policy is None:
                continue
            unread.discard(uri)
            policies |= {uri: policy} if policy else {}
    with_policies = [
        with_policy(tool, policies.get(page_address(tool.get("_meta")))) for tool in tools.tools
    ]
    return replace(tools, tools=with_policies, unread=frozenset(unread))


def _policy_of(resource: Any) -> JSONObject | None:
    meta = resource.get("_meta") if isinstance(resource, dict) else None
    ui = meta.get("ui") if isinstance(meta, dict) else None
    policy = ui.get("csp") if isinstance(ui, dict) else None
    return policy if isinstance(policy, dict) else None


def build_connections() -> ConnectionPool:
    """Build connections that schedule a sync when a server reports changed tools."""

    def changed(key: str) -> None:
        _listed.get(connections, {}).pop(key, None)
        schedule_sync(key)

    connections = ConnectionPool(changed=changed)
    return connections


def _digests(tools: Tools) -> dict[str, str]:
    return digest_tools(tools.tools)
