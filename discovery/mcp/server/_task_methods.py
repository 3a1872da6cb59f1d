"""Methods of tasks, for both generations: what a request about a task is answered.

Answers are plain objects: the official SDK leaves these methods out of its tables.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from mcp_types import Result
from mcp_types.jsonrpc import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
)

from acl.web.open_streams import open_streams
from catalog.formats.descriptors import JSONObject
from discovery.calls.execution import BegunCall
from discovery.mcp.server._client_side import RELATED, TASKS, ClientSide, LiveCall
from discovery.mcp.server._mcp_tools import ServerRefusedError, finish
from discovery.mcp.server.call_tasks import (
    CallTasks,
    TaskRefusedError,
    abandon,
    describe_newer_task,
    describe_task,
    is_abandoned,
    is_asked_now,
    kept_answers,
    required_of,
)
from discovery.models import Call

TASKS_SINCE = "2025-11-25"  # and only then: later it is an extension
CAPABILITY: JSONObject = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
Answer = JSONObject | Result | LiveCall


class MissingExtensionError(TaskRefusedError):
    """The client asks about tasks without announcing the extension."""

    data: JSONObject = {"requiredCapabilities": {"extensions": {TASKS: {}}}}

    def __init__(self) -> None:
        message = "Announce the extension io.modelcontextprotocol/tasks."
        super().__init__(message, MISSING_REQUIRED_CLIENT_CAPABILITY)


@dataclass(frozen=True, slots=True)
class OlderTasks:
    """Tasks of 2025-11-25."""

    tasks: CallTasks
    client: ClientSide
    params: Mapping[str, Any]

    @property
    def methods(self) -> dict[str, Callable[[], Answer]]:
        """Return the methods by name."""
        return {
            "tasks/get": self._get,
            "tasks/result": self._result,
            "tasks/cancel": self._cancel,
            "tasks/list": self._list,
        }

    def _get(self) -> Answer:
        return describe_task(self.tasks.find(self.params.get("taskId")))

    def questions_of_poll(self) -> list[JSONObject]:
        """Return the questions for a client that has only polled so far."""
        call = self.tasks.find(self.params.get("taskId"))
        related = {"_meta": {RELATED: {"taskId": str(call.pk)}}}
        return [
            {"jsonrpc": "2.0", "id": name, **question, "params": question["params"] | related}
            for name, question in self.tasks.questions(call).items()
            if is_asked_now(call, name)
        ]

    def _result(self) -> Answer:
        """Answer once the call has ended: by a stream, or after as long as the settings say."""
        call = self.tasks.find(self.params.get("taskId"))
        begun_call = begun_of(self.tasks, call)
        if call.state not in Call.ENDED:
            user = call.user_id
            if self.client.takes_stream and open_streams.take(user):
                return LiveCall(begun_call, self.client, is_task=True)
            begun_call = begun_call.wait(settings.PEGBOARD_CALL_WAIT_SECONDS)
        return payload_of(begun_call, self.client)

    def _cancel(self) -> Answer:
        call = self.tasks.find(self.params.get("taskId"))
        if call.state in Call.ENDED:
            raise TaskRefusedError(f"The task has ended: {describe_task(call)['status']}.")
        return describe_task(self.tasks.cancel(call))

    def _list(self) -> Answer:
        calls, cursor = self.tasks.list(self.params.get("cursor"))
        page: JSONObject = {"tasks": [describe_task(call) for call in calls]}
        return page | ({"nextCursor": cursor} if cursor else {})


@dataclass(frozen=True, slots=True)
class NewerTasks:
    """Tasks as the extension of 2026-07-28. Of a request, the header names the task, too."""

    tasks: CallTasks
    client: ClientSide
    params: Mapping[str, Any]
    named: str | None
    write_result: Callable[[Result], JSONObject]

    @property
    def methods(self) -> dict[str, Callable[[], Answer]]:
        """Return the methods by name."""
        return {
            "tasks/get": self.describe,
            "tasks/cancel": self._cancel,
            "tasks/update": self._update,
        }

    def describe(self) -> JSONObject:
        """Return the task as it is now, with its result or what it asks."""
        first = self._find()
        call = self.tasks.latest(first)
        task = {"resultType": "complete", **describe_newer_task(call), "taskId": str(first.pk)}
        task["createdAt"] = first.created_at.isoformat()
        if questions := self.tasks.questions(call):
            return {**task, "status": "input_required", "inputRequests": questions}
        if call.state not in Call.ENDED or task["status"] == "cancelled":
            return task
        if (required := required_of(call)) is not None:
            return {**task, **_asking(call, required)}
        try:
            result = self.write_result(finish(begun_of(self.tasks, call), self.client))
        except ServerRefusedError as refused:
            return {**task, "status": "failed", "error": refused.error}
        return {**task, "result": result}

    def _cancel(self) -> Answer:
        call = self.tasks.latest(self._find())
        if call.state not in Call.ENDED:
            self.tasks.cancel(call)
        elif required_of(call) is not None:
            abandon(call)
        return {"resultType": "complete"}

    def _update(self) -> Answer:
        """Take answers. Those to what is not asked are ignored."""
        call, answers = self._find(), self.params.get("inputResponses")
        if not isinstance(answers, dict):
            raise TaskRefusedError("inputResponses: it must be an object.")
        self.tasks.answer(self.tasks.latest(call), answers, self.client)
        return {"resultType": "complete"}

    def _find(self) -> Call:
        if not self.client.takes_tasks:
            raise MissingExtensionError
        if self.named != self.params.get("taskId"):
            raise TaskRefusedError("Mcp-Name does not match taskId.", HEADER_MISMATCH)
        return self.tasks.find(self.params.get("taskId"))


def _asking(call: Call, required: JSONObject) -> JSONObject:
    """Return the status of a task whose server asks, with what is not answered yet."""
    if is_abandoned(call):
        return {"status": "cancelled"}
    answered = kept_answers(call)
    questions = required.get("inputRequests") or {}
    unanswered = {name: question for name, question in questions.items() if name not in answered}
    return {"status": "input_required", "inputRequests": unanswered}


def begun_of(tasks: CallTasks, call: Call) -> BegunCall:
    """Return a stored call as if it had just begun."""
    if call.capability is None:
        raise TaskRefusedError(call.message or "The call was removed from the queue.")
    return BegunCall(tasks.caller, call, call.capability, is_new=False, notice="")


def payload_of(begun_call: BegunCall, client: ClientSide) -> Result:
    """Return what the call itself would have been answered, with the task that it was."""
    if begun_call.call.state not in Call.ENDED:
        raise TaskRefusedError("The task has not ended. Ask again.", INTERNAL_ERROR)
    result = finish(begun_call, client)
    related = {RELATED: {"taskId": str(begun_call.call.pk)}}
    return result.model_copy(update={"meta": {**(result.meta or {}), **related}})


def task_status(call: Call) -> JSONObject:
    """Return the notification of a task's status, for clients of 2025-11-25."""
    method = "notifications/tasks/status"
    return {"jsonrpc": "2.0", "method": method, "params": describe_task(call)}


def created(begun_call: BegunCall, *, is_modern: bool) -> JSONObject:
    """Return the answer to a call that became a task."""
    if is_modern:
        return {"resultType": "task", **describe_newer_task(begun_call.call)}
    return {"task": describe_task(begun_call.call)}
