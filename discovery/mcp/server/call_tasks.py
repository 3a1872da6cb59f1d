"""Calls as MCP's tasks: a call is a row with a state already, and a task is a view of it.

Two generations: tasks of 2025-11-25, which the client asks for, and the extension of 2026-07-28, in
which the server decides. The rights are those of reading a call.
"""

import json
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.utils.dateparse import parse_datetime
from mcp_types.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from redis import Redis

from acl.platform.redis_circuit import attempt
from acl.platform.strict_json import write_json
from acl.rights.caller_lookup import Caller
from acl.rights.delegation.authority import KeyHolder
from catalog.formats.descriptors import JSONObject
from catalog.models import Capability, Integration
from discovery.calls.approval_queue import TooManyWaitingError
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.calls.channel import send_answer, wait_for_end, waiting_questions
from discovery.calls.execution import NotFoundError, begin
from discovery.calls.queries import find_own_call, has_made
from discovery.calls.state import STOPPED_BY_CLIENT
from discovery.calls.view import describe_call
from discovery.mcp.server._client_side import ClientSide, cancel
from discovery.models import Call

# Answers to what a task's server asks, until there are all of them, and when it is asked.
#
# They are in Redis, as what a running call's client answers is. If they are lost, the client sees
# the questions again.

_KEPT_SECONDS = 24 * 3600
# Official clients differ: some open `tasks/result` as soon as a task asks, others only poll.
_ASKED_AT_POLL = 3
_POLLS = "pegboard:task:{}:polls"
_ABANDONED = "pegboard:task:{}:cancelled"
_ANSWERS = "pegboard:task:{}:answers"


def keep_answers(call: Call, answers: JSONObject) -> None:
    """Keep some answers to a call's questions."""
    key = _ANSWERS.format(call.pk.hex)
    texts = {name: write_json(answer) for name, answer in answers.items()}

    def keep(redis: Redis) -> None:
        pipeline = redis.pipeline(transaction=False)
        for name, text in texts.items():
            pipeline.hset(key, name, text)
        pipeline.expire(key, _KEPT_SECONDS)
        pipeline.execute()

    attempt(keep, default=None)


def kept_answers(call: Call) -> JSONObject:
    """Return the answers to a call's questions so far."""
    key = _ANSWERS.format(call.pk.hex)
    texts: Any = attempt(lambda redis: cast(Any, redis.hgetall(key)), default={})
    return {name.decode(): json.loads(text) for name, text in texts.items()}


def is_asked_now(call: Call, question: str) -> bool:
    """Count a poll that found this question open; return True with the third: its client opens no
    stream for it. It is never True again, so that nobody is asked twice."""
    key = _POLLS.format(call.pk.hex)

    def count(redis: Redis) -> int:
        pipeline = redis.pipeline(transaction=False)
        pipeline.hincrby(key, question, 1)
        pipeline.expire(key, _KEPT_SECONDS)
        return int(pipeline.execute()[0])

    return attempt(count, default=0) == _ASKED_AT_POLL


def abandon(call: Call) -> None:
    """Note that the client answers no more: it has cancelled the task."""
    key = _ABANDONED.format(call.pk.hex)
    attempt(lambda redis: redis.set(key, b"1", ex=_KEPT_SECONDS), default=None)


def is_abandoned(call: Call) -> bool:
    """Return True if the client has cancelled the task instead of answering."""
    key = _ABANDONED.format(call.pk.hex)
    return bool(attempt(lambda redis: redis.exists(key), default=0))


# A newer client gets a task where a call has not ended by then.
TASK_AFTER_SECONDS = 2.0
POLL_MS, POLL_APPROVAL_MS = 1_000, 5_000
PAGE = 50
MOST_ROUNDS = 20  # of answers, in one task
_CANCEL_SECONDS = 10.0
_DAY_MS = 24 * 3600 * 1000
State = Call.State


class TaskRefusedError(Exception):
    """A refused request about a task, with its JSON-RPC code."""

    def __init__(self, message: str, code: int = INVALID_PARAMS) -> None:
        super().__init__(message)
        self.code = code


class NoTaskError(TaskRefusedError):
    """The tool is one of Pegboard's own, which answer at once."""

    def __init__(self) -> None:
        super().__init__("This tool cannot be called as a task.", METHOD_NOT_FOUND)


@dataclass(frozen=True, slots=True)
class CallTasks:
    """The caller's calls at one address, as tasks."""

    principal: Any
    caller: Caller
    integration: Integration | None = None

    def find(self, task_id: Any) -> Call:
        """Return a call of the caller's. Raises TaskRefusedError alike for all others."""
        try:
            pk = UUID(task_id)
        except (ValueError, TypeError, AttributeError):
            pk = None
        call = find_own_call(caller=self.caller, pk=pk) if pk else None
        if call is None or not self._is_here(call):
            raise TaskRefusedError("There is no such task.")
        return call

    def latest(self, call: Call) -> Call:
        """Return the call that a task has come to: after each round of answers it is a new one."""
        for _ in range(MOST_ROUNDS):
            own_calls = Call.objects.filter(
                self.caller.application_rows,
                user=call.user_id,
                group__in=self.caller.group_ids,
            )
            following = own_calls.filter(idempotency_key=_key_after(call)).first()
            if following is None:
                break
            call = self._reread(following)
        return call

    def answer(self, call: Call, answers: JSONObject, client: ClientSide) -> None:
        """Keep answers to what a call's server asks; once there are all, call it again with them.

        One that still runs, whose server is of the older generation, hears each at once.

        Raises TaskRefusedError if it cannot be called any more, and for another credential than the
        one that made the call.
        """
        if not has_made(self.principal, call):
            raise TaskRefusedError("Only the client that made the call answers its questions.")
        for name in self.questions(call).keys() & answers.keys():
            send_answer(call.pk, int(name.partition(".")[2]), {"result": answers[name]})
        required = required_of(call)
        if required is None or not required.get("inputRequests"):
            return
        keep_answers(
            call, {name: answers[name] for name in required["inputRequests"] if name in answers}
        )
        stored_answers = kept_answers(call)
        if not required["inputRequests"].keys() <= stored_answers.keys():
            return
        state = {"requestState": required["requestState"]} if "requestState" in required else {}
        try:
            begin(
                caller=self.caller,
                full_name=call.full_name,
                arguments=call.arguments,
                turn_id=call.turn_id,
                idempotency_key=_key_after(call),
                dialogue=client.dialogue(is_task=True, names_server=self.integration is None)
                | {"answers": {"inputResponses": stored_answers, **state}},
            )
        except (ArgumentsRefusedError, NotFoundError, TooManyWaitingError) as refused:
            raise TaskRefusedError(str(refused)) from None

    def questions(self, call: Call) -> JSONObject:
        """Return what the server of a running call asks, by the ids of the questions; nothing to
        another credential than the one that made the call."""
        if not has_made(self.principal, call):
            return {}
        return {
            name: {"method": question["method"], "params": question["params"]}
            for name, question in _waiting(call).items()
        }

    def cancel(self, call: Call) -> Call:
        """Cancel a call, and return it once it has ended. Raises TaskRefusedError otherwise."""
        cancel(self.principal, call.pk)
        call = self._reread(wait_for_end(call, _CANCEL_SECONDS))
        if call.state not in Call.ENDED:
            raise TaskRefusedError("The task could not be cancelled yet.", INTERNAL_ERROR)
        return call

    def list(self, cursor: Any) -> tuple[list[Call], str | None]:
        """Return a page of the calls that this credential made, the newest first, and the cursor
        of the next page."""
        rows = Call.objects.filter(
            user=self.caller.user_id, group__in=self.caller.group_ids, capability__in=self._usable()
        )
        if isinstance(self.principal, KeyHolder):
            rows = rows.filter(key_id=self.principal.key_id)
        else:
            rows = rows.filter(actor_id=self.principal.pk, key_id=None)
        if cursor is not None:
            rows = rows.filter(self._after(cursor))
        page_rows = list(rows.order_by("-created_at", "-pk")[: PAGE + 1])
        has_more = len(page_rows) > PAGE
        last = page_rows[PAGE - 1] if has_more else None
        return page_rows[:PAGE], f"{last.created_at.isoformat()} {last.pk}" if last else None

    def _usable(self) -> Any:
        every = Capability.objects.all()
        some = every.filter(integration=self.integration) if self.integration else None
        usable = every.usable_by(self.caller, unavailable=True, among=some, apps=True)
        return usable.values("pk")

    def _after(self, cursor: Any) -> Q:
        try:
            time, _, pk = str(cursor).partition(" ")
            at, last = parse_datetime(time), UUID(pk)
        except ValueError:
            at = None
        if at is None or at.tzinfo is None:
            raise TaskRefusedError("cursor: it is not one of ours.")
        return Q(created_at__lt=at) | Q(created_at=at, pk__lt=last)

    def _is_here(self, call: Call) -> bool:
        if self.integration is None:
            return True
        return call.capability is not None and call.capability.integration == self.integration

    def _reread(self, call: Call) -> Call:
        return find_own_call(caller=self.caller, pk=call.pk) or call


def _waiting(call: Call) -> dict[str, JSONObject]:
    can_ask = call.state == State.RUNNING and (call.dialogue or {}).get("is_task")
    return waiting_questions(call.pk) if can_ask else {}


def required_of(call: Call) -> JSONObject | None:
    """Return what the server of an ended call asks before it goes on, or None."""
    result = call.result if call.state == State.COMPLETED and not call.content else None
    required: JSONObject | None = (result or {}).get("required")
    return required


def describe_task(call: Call) -> JSONObject:
    """Return a task as 2025-11-25 has it."""
    changed = call.ended_at or call.started_at or call.decided_at or call.created_at
    task = {
        "taskId": str(call.pk),
        "status": _status_of(call),
        "createdAt": call.created_at.isoformat(),
        "lastUpdatedAt": changed.isoformat(),
        "ttl": settings.PEGBOARD_CALL_DAYS * _DAY_MS,
        "pollInterval": POLL_APPROVAL_MS if call.state == State.WAITING else POLL_MS,
    }
    return task | (
        {"statusMessage": message}
        if (message := "" if call.state == State.COMPLETED else describe_call(call).message)
        else {}
    )


def describe_newer_task(call: Call) -> JSONObject:
    """Return a task as the extension has it: names have units, and errors of tools are results."""
    task = describe_task(call)
    task |= {"ttlMs": task.pop("ttl"), "pollIntervalMs": task.pop("pollInterval")}
    return task | ({"status": "completed"} if task["status"] == "failed" else {})


def _status_of(call: Call) -> str:
    """Return MCP's status. What waits for approval works: nothing is asked of the client."""
    if call.state == State.CANCELLED or call.reason == STOPPED_BY_CLIENT:
        return "cancelled"
    if call.state not in Call.ENDED:
        return "input_required" if _waiting(call) else "working"
    return "completed" if call.state == State.COMPLETED else "failed"


def _key_after(call: Call) -> str:
    return f"task:{call.pk}"
