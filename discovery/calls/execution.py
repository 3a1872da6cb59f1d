"""Execution of a capability: check the right and the arguments, store the call, await its outcome.

The web process contacts no server. A call is stored before anything else happens; the process that
holds the connections sends it.
"""

import re
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from rapidfuzz import fuzz, process

from acl.audit.recorder import record
from acl.models import chain_columns
from acl.models.application import stored_conversation
from acl.rights.caller_lookup import Caller
from catalog.formats.descriptors import JSONObject
from catalog.models import Capability
from discovery.calls._permission import (
    failure_by_obstacle,
    find_usable_capability,
    waits_for_review,
)
from discovery.calls.approval_queue import check_queue_limit, lock_queue_of
from discovery.calls.argument_check import check_arguments, read_arguments
from discovery.calls.arguments import accept_former_names, hash_of, serialize_arguments
from discovery.calls.channel import wait_for_end
from discovery.calls.flow_check import check_flow, explain, must_ask, must_refuse
from discovery.calls.queries import target_of
from discovery.calls.quotas import check_application_limits, check_call_limit, check_quotas
from discovery.calls.state import FLOW_REFUSED, NOT_THERE, queue, send_on_commit
from discovery.calls.view import MOST_CONTENT, Execution, describe_call, way_of
from discovery.metatools import META_TOOLS
from discovery.models import Call, Turn

__all__ = [
    "MOST_CONTENT",
    "BegunCall",
    "Execution",
    "NotFoundError",
    "begin",
    "execute",
    "find_usable",
    "not_found",
]


# Suggestions for names that are nearly right: a model writes `filesystem.grep`, or `send_mail`.
#
# Pure functions: callers pass only names that the caller of the request may know.

MOST, COMPARED, LONGEST = 3, 20, 100
MIN_SCORE = 75  # of 100
ACTION_WEIGHT = 0.95  # of a likeness without the server's name, against the whole
_SEPARATORS = re.compile(r"[^a-z0-9]+")
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def near_names(name_sought: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return up to three of the names, the nearest first; only equal ones if there are any.

    Whole names are compared, and actions alone: the integration may be wrong or missing.
    """
    name_sought, names = name_sought[:LONGEST], list(names)
    scores = _scores(_plain(name_sought), {name: _plain(name) for name in names})
    for name, score in _scores(
        _action(name_sought), {name: _action(name) for name in names}
    ).items():
        scores[name] = max(scores.get(name, 0.0), ACTION_WEIGHT * score)
    nearest = sorted(scores, key=lambda name: (-scores[name], name))
    equal = [name for name in nearest if scores[name] == 100]
    return tuple((equal or [name for name in nearest if scores[name] >= MIN_SCORE])[:MOST])


def _scores(text_sought: str, texts: dict[str, str]) -> dict[str, float]:
    """Return the likeness, 0-100, of the names whose text is nearest to the one asked for."""
    if not text_sought:
        return {}
    matches = process.extract(
        text_sought, texts, scorer=fuzz.ratio, score_cutoff=MIN_SCORE, limit=COMPARED
    )
    return {name: score for _, score, name in matches}


def _action(name: str) -> str:
    return _plain(name.rpartition("__")[2])


@lru_cache(maxsize=20_000)
def _plain(name: str) -> str:
    """Return the name in lower case, with one kind of separator."""
    return _SEPARATORS.sub("_", _WORD_START.sub("_", name).casefold()).strip("_")


LONGEST_SHOWN = 200
State, Way = Call.State, Call.Way


class NotFoundError(Exception):
    """No such tool of the caller's: the name is unknown, or the tool someone else's.

    `did_you_mean` lists only names of tools that the caller may use.
    """

    def __init__(self, name: str, did_you_mean: tuple[str, ...], what: str = "tool") -> None:
        near = f" Did you mean {' or '.join(did_you_mean)}?" if did_you_mean else ""
        short_name = name[:LONGEST_SHOWN]
        super().__init__(f"There is no {what} '{short_name}' among those that you may use.{near}")
        self.did_you_mean = did_you_mean


class NeedsApprovalError(NotFoundError):
    """The caller's tool has changed since it was approved, and its review is pending."""

    def __init__(self, name: str) -> None:
        super().__init__(name, ())
        self.args = (
            f"'{name}' has changed since it was approved. Nobody can use it until an "
            "admin has reviewed it (needs_approval).",
        )


class KeyUsedError(Exception):
    """The idempotency key belongs to another call."""

    def __init__(self) -> None:
        super().__init__("This Idempotency-Key was used for another call.")


class StillUnderWayError(Exception):
    """The call with this idempotency key has not ended."""

    def __init__(self, call: Call) -> None:
        super().__init__(f"The call with this Idempotency-Key is in progress: ask for {call.pk}.")
        self.call = call


def execute(
    *,
    caller: Caller,
    full_name: str,
    arguments: Any,
    turn_id: UUID | None = None,
    idempotency_key: str = "",
    conversation: str = "",
    wait_seconds: float | None = None,
    dialogue: JSONObject | None = None,
) -> Execution:
    """Call one of the caller's capabilities and wait for its outcome, up to `wait_seconds`.

    `conversation` is the application's own name of it; without one it is that of the turn.
    `dialogue` is what an MCP client can be asked, as `capabilities`, and its `answers`.

    Raises NotFoundError alike for unknown names and for other people's tools, NeedsApprovalError if
    the definition awaits review, ArgumentsRefusedError, TooManyWaitingError (QuotaExceededError is
    one), and for an idempotency key KeyUsedError and StillUnderWayError.
    """
    begun_call = begin(
        caller=caller,
        full_name=full_name,
        arguments=arguments,
        turn_id=turn_id,
        idempotency_key=idempotency_key,
        conversation=conversation,
        dialogue=dialogue,
    )
    if begun_call.is_under_way:
        begun_call = begun_call.wait(wait_seconds)
        if begun_call.is_under_way and not begun_call.is_new:
            raise StillUnderWayError(begun_call.call)
    return begun_call.finish()


@dataclass(frozen=True, slots=True)
class BegunCall:
    """A stored call. `notice` is of quotas near their end, or ""."""

    caller: Caller
    call: Call
    capability: Capability
    is_new: bool
    notice: str

    @property
    def is_under_way(self) -> bool:
        """Return True if the call waits for a worker or runs."""
        return self.call.state in Call.UNDER_WAY

    def wait(self, seconds: float | None = None) -> "BegunCall":
        """Wait for the end, as long as the settings say or up to `seconds`."""
        most = settings.PEGBOARD_CALL_WAIT_SECONDS if seconds is None else seconds
        return replace(self, call=wait_for_end(self.call, most))

    def finish(self) -> Execution:
        """Describe the call as it is now. Raises NotFoundError if the right was withdrawn before
        the worker sent it."""
        if self.call.reason == NOT_THERE:
            raise _missing_error(caller=self.caller, full_name=self.capability.full_name)
        self.call.capability = self.capability
        return replace(describe_call(self.call), notice=self.notice or None)


def begin(
    *,
    caller: Caller,
    full_name: str,
    arguments: Any,
    turn_id: UUID | None = None,
    idempotency_key: str = "",
    conversation: str = "",
    dialogue: JSONObject | None = None,
    apps: bool = False,
) -> BegunCall:
    """Check and store a call without waiting for its outcome. Raises what `execute` does.

    `apps` says that it may be the call of a server's own app, which a client shows.
    """
    capability = find_usable(caller=caller, full_name=full_name, apps=apps)
    arguments = _checked(capability, arguments)
    call = _new_call(caller, capability, arguments, turn_id, idempotency_key, conversation)
    # Of a call that waits for a person, the client is gone when it is sent.
    call.dialogue = dialogue if call.state == State.QUEUED else None
    call, is_new, notice = _store(call, caller, capability)
    return BegunCall(caller, call, capability, is_new, notice)


def _checked(capability: Capability, arguments: Any) -> JSONObject:
    """Return the arguments; raise ArgumentsRefusedError unless they fit the tool's schema."""
    schema = capability.input_schema
    if way_of(capability) == Way.PEGBOARD:  # the stored schema may be that of an older release
        tool = META_TOOLS[capability.full_name]
        schema, arguments = tool.input_schema, accept_former_names(tool, arguments)
    arguments = read_arguments(schema, arguments)
    check_arguments(schema, arguments)
    checked: JSONObject = arguments
    return checked


def find_usable(*, caller: Caller, full_name: str, apps: bool = False) -> Capability:
    """Return the capability with its readiness; raise NotFoundError unless it is the caller's."""
    capability = find_usable_capability(caller, full_name=full_name, apps=apps)
    if capability is None:
        raise _missing_error(caller=caller, full_name=full_name)
    return capability


def _missing_error(*, caller: Caller, full_name: str) -> NotFoundError:
    if waits_for_review(caller, full_name=full_name):
        return NeedsApprovalError(full_name)
    return not_found(caller=caller, full_name=full_name)


def not_found(*, caller: Caller, full_name: str) -> NotFoundError:
    """Build the one error for every name that is not the caller's."""
    usable = Capability.objects.usable_by(caller).connected()
    return NotFoundError(
        full_name, near_names(full_name, usable.values_list("full_name", flat=True))
    )


def _new_call(
    caller: Caller,
    capability: Capability,
    arguments: JSONObject,
    turn_id: UUID | None,
    idempotency_key: str,
    conversation: str,
) -> Call:
    call = Call(
        user_id=caller.user_id,
        **_groups_of(caller, capability),
        **chain_columns(),
        capability=capability,
        full_name=capability.full_name,
        definition_hash=capability.definition_hash,
        side_effect=capability.side_effect,
        way=way_of(capability),
        arguments_json=serialize_arguments(arguments),
        arguments_hash=hash_of(arguments),
        idempotency_key=idempotency_key,
    )
    call.tokens_arguments = _tokens_of(call.arguments_json)
    if call.way == Way.SKILL:
        call.tokens_result = _tokens_of(capability.content[:MOST_CONTENT])
    call.turn_id, of_turn = _own_turn(call, caller, turn_id)
    call.conversation = stored_conversation(conversation) or of_turn
    check_flow(call, capability, arguments)
    if failure := failure_by_obstacle(call, capability):
        call.state, call.ended_at = State.FAILED, Now()
        call.reason, call.message = failure
    elif must_refuse(call):
        call.state, call.ended_at, call.reason = State.FAILED, Now(), FLOW_REFUSED
        call.message = f"{explain(call)} Nothing has been run."
    elif must_ask(call) or capability.readiness.asks_first:  # type: ignore[attr-defined]
        call.needs_approval, call.state = True, State.WAITING
        call.expires_at = Now() + timedelta(hours=settings.PEGBOARD_APPROVAL_HOURS)
    elif call.way != Way.SERVER:
        call.state, call.ended_at = State.COMPLETED, Now()
    return call


def _tokens_of(text: str) -> int:
    return (len(text) + 3) // 4


def _groups_of(caller: Caller, capability: Capability) -> dict[str, Any]:
    """Return the group that grants the tool, and the group of the space if it is another one.

    The space's group is kept so that its deny rules hold when the call is approved and sent.
    """
    group_id: int = getattr(capability, "given_in", caller.group_id)
    limited = caller.space_id is not None and group_id != caller.group_id
    others = [caller.group_id] if limited else []
    return {
        "group_id": group_id,
        "space_id": caller.space_id,
        "other_groups": others,
        "application_id": caller.application_id,
    }


def _own_turn(call: Call, caller: Caller, turn_id: UUID | None) -> tuple[UUID | None, str]:
    """Return the turn's id and its conversation if the turn is the caller's own.

    An actor's calls do not count in the turns of the person they act as.
    """
    if turn_id is None:
        return None, ""
    turns = Turn.objects.filter(
        caller.application_rows, pk=turn_id, user=call.user_id, group__in=caller.group_ids
    )
    if call.acts_for_other:
        turns = turns.filter(actor=call.actor_id, credential=call.credential)
    return turns.values_list("pk", "conversation").first() or (None, "")


def _store(call: Call, caller: Caller, capability: Capability) -> tuple[Call, bool, str]:
    """Store the call; return the row, False if its idempotency key was used before, and a notice
    of quotas near their end, or ""."""
    # Another group may grant the tool by now, and the unique constraint covers one group only.
    if caller.is_united and (earlier_call := _find_earlier(call, caller)):
        return earlier_call, False, ""
    notice, quotas = "", getattr(capability, "quotas", [])
    a_minute = getattr(capability, "a_minute", None)
    of_application = getattr(capability, "application_limited", False)
    try:
        # Without an idempotency key no earlier call can exist: one statement needs no transaction.
        plain = not (call.idempotency_key or call.state == State.WAITING or call.acts_for_other)
        is_limited = bool(quotas or a_minute or of_application)
        with nullcontext() if plain and not is_limited else transaction.atomic():
            if is_limited and (earlier := _find_earlier(call, caller)) is not None:
                return earlier, False, ""
            if quotas:
                notice = check_quotas(call, quotas)
            if of_application:
                notice = " ".join(filter(None, [notice, check_application_limits(call)]))
            if a_minute:
                check_call_limit(capability.integration, a_minute)
            if call.state == State.WAITING:
                people = lock_queue_of(call)
                if (earlier := _find_earlier(call, caller)) is not None:
                    return earlier, False, ""
                check_queue_limit(call, people)
            if call.state == State.QUEUED:
                queue(call)
            else:
                call.save(force_insert=True)
            if call.acts_for_other:
                details = {"call": str(call.pk), "arguments": call.arguments_hash}
                record(by=None, action="call.acted_for", target=target_of(call), details=details)
    except IntegrityError:
        earlier = _find_earlier(call, caller)
        if earlier is None:
            raise
        return earlier, False, ""
    if call.state == State.QUEUED:
        send_on_commit(call)
    if call.state == State.WAITING:
        call.refresh_from_db(fields=["expires_at"])
    return call, True, notice


def _find_earlier(call: Call, caller: Caller) -> Call | None:
    """Return the earlier call with this key. Raises KeyUsedError if it made another request.

    Only calls of the same sender count: the actor, or the API key if it has no owner. Others who
    act for the same user must not get their answers.
    """
    if not call.idempotency_key:
        return None
    sender = "key_id" if call.actor_id is None else "actor_id"
    same_key = {name: getattr(call, name) for name in (*_KEY_COLUMNS, sender)}
    if sender == "key_id":
        same_key["actor_id"] = None
    earlier = Call.objects.filter(
        group__in=caller.group_ids,
        **{name: value for name, value in same_key.items() if value is not None},
        **{f"{name}__isnull": True for name, value in same_key.items() if value is None},
    ).first()
    if earlier is not None and _request_of(earlier) != _request_of(call):
        raise KeyUsedError
    return earlier


# With the group of the call, which is the one that grants the tool.
_KEY_COLUMNS = ("user_id", "credential", "idempotency_key")


def _request_of(call: Call) -> tuple[str, int | None, int | None, str]:
    return call.full_name, call.space_id, call.application_id, call.arguments_hash
