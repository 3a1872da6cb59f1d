"""Requests of the API calls, shared by both clients.

A `repeatable` request may be sent twice: it only reads, or leaves no more than a turn without an
outcome, or has an idempotency key.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from pegboard_client import answers
from pegboard_client.options import (
    Caller,
    DetailOptions,
    DiscoverOptions,
    Filters,
    OutcomeFields,
    PlanOptions,
    SelectOptions,
)
from pegboard_client.problems import Conflict

# Time that Pegboard may wait before it answers, in addition to the client's timeout.
_CALL_WAIT_SECONDS = 60.0
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FIELD_NAMES = {"task_success": "taskSuccess"}
_CHANGING_META_TOOLS = {"execute_tool", "mcp__call_tool", "mcp__register_server"}


Answer = TypeVar("Answer")


@dataclass(frozen=True)
class ApiRequest(Generic[Answer]):
    """A request to send, and the type of its answer."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    wait_seconds: float = 0.0


def select(message: str, options: SelectOptions) -> ApiRequest[answers.Selection]:
    return ApiRequest("POST", "/api/v1/select", {"message": message, **options}, repeatable=True)


def plan(message: str, options: PlanOptions) -> ApiRequest[answers.Plan]:
    return ApiRequest("POST", "/api/v1/plan", {"message": message, **options}, repeatable=True)


def discover(message: str, options: DiscoverOptions) -> ApiRequest[answers.Discovery]:
    return ApiRequest("POST", "/api/v1/discover", {"message": message, **options}, repeatable=True)


def execute(
    name: str,
    arguments: Mapping[str, Any] | None,
    turn_id: str | None,
    idempotency_key: str,
    caller: Caller,
) -> ApiRequest[answers.Call]:
    return ApiRequest(
        "POST",
        "/api/v1/execute",
        {"name": name, "arguments": dict(arguments or {}), "turn_id": turn_id, **caller},
        headers={"Idempotency-Key": idempotency_key},
        repeatable=True,
        wait_seconds=_CALL_WAIT_SECONDS,
    )


def call(call_id: str, wait: float = 0) -> ApiRequest[answers.Call]:
    path = f"/api/v1/calls/{quote(call_id, safe='')}"
    return ApiRequest("GET", path, query={"wait": wait}, repeatable=True, wait_seconds=wait)


def cancel(call_id: str) -> ApiRequest[answers.Call]:
    return ApiRequest("POST", f"/api/v1/calls/{quote(call_id, safe='')}/cancel", {})


def turn(turn_id: str) -> ApiRequest[answers.Turn]:
    return ApiRequest("GET", f"/api/v1/turns/{quote(turn_id, safe='')}", repeatable=True)


def start(turn_id: str) -> ApiRequest[answers.Turn]:
    return ApiRequest("POST", f"/api/v1/turns/{quote(turn_id, safe='')}/start", {}, repeatable=True)


def outcome(turn_id: str, fields: OutcomeFields) -> ApiRequest[answers.Reported]:
    """Build the report of an outcome. Not repeatable: the second one would get a conflict."""
    body = {_FIELD_NAMES.get(name, name): value for name, value in fields.items()}
    return ApiRequest("POST", f"/api/v1/turns/{quote(turn_id, safe='')}/outcome", body)


def capabilities(filters: Filters) -> ApiRequest[answers.CapabilityPage]:
    return ApiRequest("GET", "/api/v1/capabilities", query=dict(filters), repeatable=True)


def capability(full_name: str, fields: DetailOptions) -> ApiRequest[answers.OneCapability]:
    path = f"/api/v1/capabilities/{quote(full_name, safe='')}"
    return ApiRequest("GET", path, query=dict(fields), repeatable=True)


def meta_tools() -> ApiRequest[answers.MetaTools]:
    return ApiRequest("GET", "/api/v1/meta", repeatable=True)


def meta(
    name: str, arguments: Mapping[str, Any] | None, turn_id: str | None, caller: Caller
) -> ApiRequest[answers.MetaAnswer]:
    reads = name not in _CHANGING_META_TOOLS
    return ApiRequest(
        "POST",
        f"/api/v1/meta/{quote(name, safe='')}",
        {"arguments": dict(arguments or {}), "turn_id": turn_id, **caller},
        repeatable=reads,
        wait_seconds=0.0 if reads else _CALL_WAIT_SECONDS,
    )


def call_under_way(conflict: Conflict) -> str:
    """Return the call that uses the idempotency key; raise the conflict if there is none."""
    found = _UUID.search(conflict.detail)
    if found is None:
        raise conflict
    return found[0]
