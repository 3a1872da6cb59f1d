"""Names that a client's last search found, kept so that its next list of tools has them.

They are names only: the list reads its tools with the rights of that moment. Redis keeps them for
an hour; without it the list goes by use alone.
"""

from collections.abc import Sequence
from typing import Any

from acl.delegation.key_holder import KeyHolder
from acl.platform.redis_circuit import attempt
from acl.rights.caller import Caller

KEPT_SECONDS = 3_600
SEARCHES = frozenset({"search_tools", "discover_capabilities", "tool_discovery__find"})


def remember_search(principal: Any, caller: Caller, answer: dict[str, Any]) -> None:
    """Keep the names in a search's answer for this client."""
    key, names = _key(principal, caller), "\n".join(_names_in(answer))
    attempt(lambda redis: redis.set(key, names, ex=KEPT_SECONDS), default=None)


def last_found(principal: Any, caller: Caller) -> Sequence[str]:
    """Return the names of the last search, best first; none if there was none."""
    kept = attempt(lambda redis: redis.get(_key(principal, caller)), default=None)
    return kept.decode().split() if isinstance(kept, bytes) else []


def _names_in(answer: dict[str, Any]) -> list[str]:
    rows = next((part for part in answer.values() if isinstance(part, list)), [])
    return [row["name"] for row in rows if isinstance(row, dict) and "name" in row]


def _key(principal: Any, caller: Caller) -> str:
    """Return a key of this sender, person and space: two keys of one person are two clients."""
    sender = f"key{principal.key_id}" if isinstance(principal, KeyHolder) else "session"
    return f"pegboard:mcp-found:{sender}:{caller.user_id}:{caller.group_id}:{caller.space_id}"
