"""Calls of tools that a server of 2025-11-25 answers as tasks only: begun, polled, and read.

The call's own time limit holds. Whoever gives it up tells the server, which may go on otherwise.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import anyio
import mcp_types as types
from django.conf import settings
from mcp.client.session import ClientSession
from pydantic import TypeAdapter

from catalog.formats.descriptors import JSONObject

_CREATED: TypeAdapter[types.CreateTaskResult] = TypeAdapter(types.CreateTaskResult)
_STATE: TypeAdapter[types.GetTaskResult] = TypeAdapter(types.GetTaskResult)
_RESULT: TypeAdapter[types.CallToolResult] = TypeAdapter(types.CallToolResult)
_ANY: TypeAdapter[Any] = TypeAdapter(dict[str, Any])
_ENDED = frozenset({"completed", "failed", "cancelled"})
_LEAST_SECONDS, _USUAL_SECONDS, _MOST_SECONDS = 0.1, 1.0, 5.0
_GOODBYE_SECONDS = 2.0


def takes_tasks(announced: types.ServerCapabilities) -> bool:
    """Return True if the server has tools that are called as tasks."""
    requests = announced.tasks.requests if announced.tasks else None
    return bool(requests and requests.tools and requests.tools.call is not None)


def task_only_names(tools: Iterable[JSONObject]) -> frozenset[str]:
    """Return the names of tools that can be called as tasks only."""
    return frozenset(
        tool["name"]
        for tool in tools
        if (tool.get("execution") or {}).get("taskSupport") == "required"
    )


async def call_as_task(session: ClientSession, params: JSONObject) -> types.CallToolResult:
    """Begin a call as a task, wait for its end, and return the result."""
    milliseconds = 1000 * (settings.PEGBOARD_CALL_SECONDS + 60)  # until we have read the result
    task_params = {**params, "task": {"ttl": milliseconds}}
    created = await session.send_request(_request("tools/call", task_params), _CREATED)
    task_reference = {"taskId": created.task.task_id}
    has_ended = False
    try:
        await _wait_for_end(session, created.task, task_reference)
        has_ended = True
        return await session.send_request(_request("tasks/result", task_reference), _RESULT)
    finally:
        if not has_ended:
            with anyio.move_on_after(_GOODBYE_SECONDS, shield=True), suppress(Exception):
                await session.send_request(_request("tasks/cancel", task_reference), _ANY)


async def _wait_for_end(
    session: ClientSession, state: types.Task | types.GetTaskResult, task_reference: JSONObject
) -> None:
    """Poll as often as the server says, within bounds.

    A task that needs input says what when its result is asked for.
    """
    while state.status not in _ENDED and state.status != "input_required":
        seconds = state.poll_interval / 1000 if state.poll_interval else _USUAL_SECONDS
        await anyio.sleep(min(max(seconds, _LEAST_SECONDS), _MOST_SECONDS))
        state = await session.send_request(_request("tasks/get", task_reference), _STATE)


def _request(method: str, params: JSONObject) -> types.Request[JSONObject, str]:
    return types.Request[JSONObject, str](method=method, params=params)
