"""What each call sends: both clients send it alike.

`repeatable` is what may be sent twice: it reads, or leaves no more than a turn that nobody tells
of, or carries an idempotency key.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from pegboard_client import answers
from pegboard_client.options import (
    Caller,
    DiscoverOptions,
    Filters,
    PlanOptions,
    SelectOptions,
    Shown,
    Told,
)
from pegboard_client.problems import Conflict

# How long Pegboard itself may wait before it answers, beside the time that any answer may take.
_CALL_WAITS = 60.0
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_AS_TOLD = {"task_success": "taskSuccess"}
_CHANGING_META_TOOLS = {"execute_tool", "mcp__call_tool", "mcp__register_server"}


Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Ask(Generic[Answer]):
    """A request before it is sent, and the type of what is answered."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    waits: float = 0.0


def select(message: str, options: SelectOptions) -> Ask[answers.Selection]:
    return Ask("POST", "/api/v1/select", {"message": message, **options}, repeatable=True)


def plan(message: str, options: PlanOptions) -> Ask[answers.Plan]:
    return Ask("POST", "/api/v1/plan", {"message": message, **options}, repeatable=True)


def discover(message: str, options: DiscoverOptions) -> Ask[answers.Discovery]:
    return Ask("POST", "/api/v1/discover", {"message": message, **options}, repeatable=True)


def execute(
    name: str,
    arguments: Mapping[str, Any] | None,
    turn_id: str | None,
    idempotency_key: str,
    caller: Caller,
) -> Ask[answers.Call]:
    return Ask(
        "POST",
        "/api/v1/execute",
        {"name": name, "arguments": dict(arguments or {}), "turn_id": turn_id, **caller},
        headers={"Idempotency-Key": idempotency_key},
        repeatable=True,
        waits=_CALL_WAITS,
    )


def call(call_id: str, wait: float = 0) -> Ask[answers.Call]:
    path = f"/api/v1/calls/{quote(call_id, safe='')}"
    return Ask("GET", path, query={"wait": wait}, repeatable=True, waits=wait)


def cancel(call_id: str) -> Ask[answers.Call]:
    return Ask("POST", f"/api/v1/calls/{quote(call_id, safe='')}/cancel", {})


def turn(turn_id: str) -> Ask[answers.Turn]:
    return Ask("GET", f"/api/v1/turns/{quote(turn_id, safe='')}", repeatable=True)


def start(turn_id: str) -> Ask[answers.Turn]:
    return Ask("POST", f"/api/v1/turns/{quote(turn_id, safe='')}/start", {}, repeatable=True)


def outcome(turn_id: str, told: Told) -> Ask[answers.Reported]:
    """Not repeatable: the second one would be told that the turn has ended."""
    body = {_AS_TOLD.get(name, name): value for name, value in told.items()}
    return Ask("POST", f"/api/v1/turns/{quote(turn_id, safe='')}/outcome", body)


def capabilities(filters: Filters) -> Ask[answers.CapabilityPage]:
    return Ask("GET", "/api/v1/capabilities", query=dict(filters), repeatable=True)


def capability(full_name: str, shown: Shown) -> Ask[answers.OneCapability]:
    path = f"/api/v1/capabilities/{quote(full_name, safe='')}"
    return Ask("GET", path, query=dict(shown), repeatable=True)


def meta_tools() -> Ask[answers.MetaTools]:
    return Ask("GET", "/api/v1/meta", repeatable=True)


def meta(
    name: str, arguments: Mapping[str, Any] | None, turn_id: str | None, caller: Caller
) -> Ask[answers.MetaAnswer]:
    reads = name not in _CHANGING_META_TOOLS
    return Ask(
        "POST",
        f"/api/v1/meta/{quote(name, safe='')}",
        {"arguments": dict(arguments or {}), "turn_id": turn_id, **caller},
        repeatable=reads,
        waits=0.0 if reads else _CALL_WAITS,
    )


def call_under_way(conflict: Conflict) -> str:
    """The call that has the idempotency key. Raises the conflict where it is another one."""
    found = _UUID.search(conflict.detail)
    if found is None:
        raise conflict
    return found[0]
