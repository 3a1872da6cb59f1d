"""Sessions of clients of the older generation, which announce themselves once.

The session id is signed and holds what the client can be asked and whose it is, so every process
reads it and nothing has to be kept. Redis has what changes: the wanted log level, which request
became which call, and the list of tools that the client has read. If Redis loses it, the client
gets no log, cannot cancel, and is not told that its list has changed.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.core import signing

from acl.platform.redis_circuit import attempt
from acl.rights.delegation.authority import KeyHolder

APPS = "io.modelcontextprotocol/ui"  # the extension
_SALT = "pegboard.mcp.session"
KEPT_SECONDS = 30 * 24 * 3600
_REQUEST_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class McpSession:
    """A session: its id within Redis, and what its client can be asked."""

    nonce: str
    capabilities: frozenset[str]
    shows_apps: bool = False

    @property
    def log_level(self) -> str:
        """Return the level that the client has set; "" if none."""
        stored = attempt(lambda redis: redis.get(self._level_key), default=None)
        return stored.decode() if isinstance(stored, bytes) else ""

    def set_log_level(self, level: str) -> None:
        """Keep the level of log messages that the client wants."""
        attempt(lambda redis: redis.set(self._level_key, level, ex=KEPT_SECONDS), default=None)

    def note_call(self, request_id: Any, call: UUID) -> None:
        """Keep which call a request became, for its cancellation."""
        key = self._request_key(request_id)
        attempt(lambda redis: redis.set(key, call.hex, ex=_REQUEST_SECONDS), default=None)

    def find_call(self, request_id: Any) -> UUID | None:
        """Return the call of a request."""
        stored = attempt(lambda redis: redis.get(self._request_key(request_id)), default=None)
        return UUID(stored.decode()) if isinstance(stored, bytes) else None

    def key(self, name: str) -> str:
        """Return the session's key in Redis for something of this name."""
        return f"pegboard:mcp-session:{self.nonce}:{name}"

    @property
    def _level_key(self) -> str:
        return self.key("level")

    def _request_key(self, request_id: Any) -> str:
        digest = sha256(json.dumps(request_id).encode()).hexdigest()[:32]
        return self.key(digest)


def open_session(principal: Any, announced: Mapping[str, Any]) -> str:
    """Return the id of a new session of a client that announced these capabilities."""
    content = {
        "nonce": secrets.token_urlsafe(12),
        "principal": _principal_of(principal),
        "capabilities": sorted(askable(announced)),
        "apps": announces_apps(announced),
    }
    return signing.dumps(content, salt=_SALT)


def read_session(principal: Any, session_id: str) -> McpSession | None:
    """Return the session; None if we did not open it for this principal, or too long ago."""
    try:
        content = signing.loads(session_id, salt=_SALT, max_age=KEPT_SECONDS)
    except signing.BadSignature:
        return None
    if content["principal"] != _principal_of(principal):
        return None
    capabilities = frozenset(content["capabilities"])
    return McpSession(content["nonce"], capabilities, content.get("apps", False))


def announces_apps(announced: Mapping[str, Any]) -> bool:
    """Return True if the client shows MCP Apps."""
    return APPS in (announced.get("extensions") or {})


def askable(announced: Mapping[str, Any]) -> frozenset[str]:
    """Return what the client can be asked. Forms unless it names other ways only."""
    kinds = {name for name in ("sampling", "roots") if announced.get(name) is not None}
    elicitation = announced.get("elicitation")
    if isinstance(elicitation, Mapping):
        if "url" in elicitation:
            kinds.add("elicitation.url")
        if "form" in elicitation or not elicitation:
            kinds.add("elicitation")
    return frozenset(kinds)


def _principal_of(principal: Any) -> str:
    if isinstance(principal, KeyHolder):
        return f"key{principal.key_id}"
    return f"user{principal.pk}"
