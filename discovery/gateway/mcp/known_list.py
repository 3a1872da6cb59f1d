"""The list of tools as an older client last read it, so that an answer tells of a change.

A client of a version before 2026-07-28 has no stream that stays open at every address, and what
changes its list is mostly its own search or call. So the notification comes with that call's
answer. Redis keeps a digest for each session: without it nobody is told, and lists are still right.
"""

from hashlib import sha256
from typing import Any

from mcp_types import ListToolsResult

from acl.platform.redis_circuit import attempt
from discovery.gateway.mcp.endpoints import CHOICE_TTL_MS, Endpoint
from discovery.gateway.mcp.mcp_sessions import McpSession

LIST_CHANGED = "notifications/tools/list_changed"
# A list costs more than many a call, so only a search always looks, and only where it can change
# the list: where that is a choice.
LOOK_SECONDS = 5
_KEPT_SECONDS = 24 * 3600
_CHOICE, _ALL = b"choice:", b"all:"


def digest_list(listed: ListToolsResult) -> bytes:
    """Return a digest of a list, and whether it is a choice."""
    kind = _CHOICE if listed.ttl_ms == CHOICE_TTL_MS else _ALL
    return kind + sha256(listed.model_dump_json(exclude={"ttl_ms"}).encode()).digest()


def keep_list(session: McpSession, listed: ListToolsResult) -> None:
    """Keep that the session's client has read this list."""
    key, digest = session.key("list"), digest_list(listed)
    attempt(lambda redis: redis.set(key, digest, ex=_KEPT_SECONDS), default=None)


def list_has_changed(session: McpSession, endpoint: Endpoint, *, has_searched: bool) -> bool:
    """Return True if the list is not what the client has read; once for each change.

    Unless it `has_searched` a choice of tools, its list is looked at every few seconds at most.
    """
    key, looked = session.key("list"), session.key("looked")
    known: Any = attempt(lambda redis: redis.get(key), default=None)
    if known is None:
        return False
    looks_now = has_searched and known.startswith(_CHOICE)
    if not looks_now and not attempt(
        lambda redis: redis.set(looked, b"1", ex=LOOK_SECONDS, nx=True), default=None
    ):
        return False
    digest = digest_list(endpoint.list_tools())
    # In one step, so that of two answers at once only one tells of it.
    before: Any = attempt(
        lambda redis: redis.set(key, digest, ex=_KEPT_SECONDS, get=True), default=None
    )
    return before is not None and before != digest
