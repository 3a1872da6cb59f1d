"""Calling a capability: whether the caller may, whether the arguments fit, and what comes of it.

Nothing here goes outward. Each call is a row before anything else happens; what a server is to
answer is sent by the process that keeps the connections, and waited for here.
"""

from contextlib import nullcontext
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from acl.callers import Caller
from acl.models import chain_columns
from acl.services.audit import record
from catalog.descriptors import JSONObject
from catalog.models import Capability, Integration
from discovery.approving import waits_for_person
from discovery.arguments import check_arguments
from discovery.binding import hash_of, written
from discovery.models import Call, Turn
from discovery.moving import queue, send_on_commit
from discovery.near_names import near_names
from discovery.permitted import usable_one, waits_for_review
from discovery.places import check_places, lock_queue_of
from discovery.reasons import DISCONNECTED, NOT_CONNECTED, NOT_THERE
from discovery.services.calls import target_of
from discovery.services.telling import MOST_CONTENT, Execution, tell, way_of
from discovery.waiting import wait_for_end

__all__ = ["MOST_CONTENT", "Execution", "NotFoundError", "execute", "find_usable", "not_found"]

LONGEST_SHOWN = 200
State, Way = Call.State, Call.Way


class NotFoundError(Exception):
    """Nothing of that name is the caller's: no such one, or not theirs. `did_you_mean` has only
    names that are theirs."""

    def __init__(self, asked: str, did_you_mean: tuple[str, ...], what: str = "tool") -> None:
        near = f" Did you mean {' or '.join(did_you_mean)}?" if did_you_mean else ""
        shown = asked[:LONGEST_SHOWN]
        super().__init__(f"There is no {what} '{shown}' among those that you may use.{near}")
        self.did_you_mean = did_you_mean


class NeedsApprovalError(NotFoundError):
    """It was the caller's, and its definition has changed since: an admin has not yet looked."""

    def __init__(self, asked: str) -> None:
        super().__init__(asked, ())
        self.args = (
            f"'{asked}' says something else than when it was approved. Nobody can use it until an "
            "admin has looked at it: needs_approval.",
        )


class KeyUsedError(Exception):
    """The idempotency key belongs to another call."""

    def __init__(self) -> None:
        super().__init__("This Idempotency-Key was used for another call.")


class StillUnderWayError(Exception):
    """The call of this idempotency key has not ended."""

    def __init__(self, call: Call) -> None:
        super().__init__(f"The call of this Idempotency-Key is under way: ask for {call.pk}.")


def execute(
    *,
    caller: Caller,
    full_name: str,
    arguments: Any,
    turn_id: UUID | None = None,
    idempotency_key: str = "",
    wait_seconds: float | None = None,
) -> Execution:
    """Call one capability of the caller's, and wait a while for what comes of it.

    Raises NotFoundError alike for an unknown name and for somebody else's, NeedsApprovalError for
    one of theirs whose definition has changed, ArgumentsRefusedError, TooManyWaitingError, and for
    an idempotency key KeyUsedError and StillUnderWayError.
    """
    capability = find_usable(caller=caller, full_name=full_name)
    check_arguments(capability.input_schema, arguments)
    call = _new_call(caller, capability, arguments, turn_id, idempotency_key)
    call, is_new = _stored(call, caller)
    if call.state in Call.UNDER_WAY:
        seconds = settings.PEGBOARD_CALL_WAIT_SECONDS if wait_seconds is None else wait_seconds
        call = wait_for_end(call, seconds)
        if call.state in Call.UNDER_WAY and not is_new:
            raise StillUnderWayError(call)
    if call.reason == NOT_THERE:  # taken away before the worker came to it
        raise _missing(caller=caller, full_name=full_name)
    call.capability = capability
    return tell(call)


def find_usable(*, caller: Caller, full_name: str) -> Capability:
    """The capability with `asks_first`; NotFoundError unless the caller may use it now."""
    found = usable_one(caller, full_name=full_name)
    if found is None:
        raise _missing(caller=caller, full_name=full_name)
    return found


def _missing(*, caller: Caller, full_name: str) -> NotFoundError:
    if waits_for_review(caller, full_name=full_name):
        return NeedsApprovalError(full_name)
    return not_found(caller=caller, full_name=full_name)


def not_found(*, caller: Caller, full_name: str) -> NotFoundError:
    """The one answer to every name that is not the caller's."""
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
) -> Call:
    call = Call(
        user_id=caller.user_id,
        **_place(caller, capability),
        **chain_columns(),
        capability=capability,
        full_name=capability.full_name,
        definition_hash=capability.definition_hash,
        side_effect=capability.side_effect,
        way=way_of(capability),
        arguments_json=written(arguments),
        arguments_hash=hash_of(arguments),
        idempotency_key=idempotency_key,
    )
    call.turn_id = _own_turn(call, caller, turn_id)
    asks_first = bool(getattr(capability, "asks_first", True))
    if waits_for_person(capability, asks_first=asks_first):
        call.needs_approval, call.state = True, State.WAITING
        call.expires_at = Now() + timedelta(hours=settings.PEGBOARD_APPROVAL_HOURS)
    elif call.way != Way.SERVER:
        call.state, call.ended_at = State.COMPLETED, Now()
    elif capability.integration.connection == Integration.Connection.DISCONNECTED:
        call.state, call.ended_at, call.reason = State.FAILED, Now(), DISCONNECTED
        call.message = NOT_CONNECTED
    return call


def _place(caller: Caller, capability: Capability) -> dict[str, Any]:
    """Bind the call to the one group that gives the tool, with the group of the space if that is
    another: a deny there still holds when the call is approved and sent."""
    group_id: int = getattr(capability, "given_in", caller.group_id)
    limited = caller.space_id is not None and group_id != caller.group_id
    others = [caller.group_id] if limited else []
    return {"group_id": group_id, "space_id": caller.space_id, "other_groups": others}


def _own_turn(call: Call, caller: Caller, turn_id: UUID | None) -> UUID | None:
    """Return the id of the turn if it is the caller's; another's is as good as none.

    Whoever acts as another person counts nothing into that person's own turns.
    """
    if turn_id is None:
        return None
    turns = Turn.objects.filter(pk=turn_id, user=call.user_id, group__in=caller.group_ids)
    if call.acts_for_other:
        turns = turns.filter(actor=call.actor_id, credential=call.credential)
    return turns.values_list("pk", flat=True).first()


def _stored(call: Call, caller: Caller) -> tuple[Call, bool]:
    """Store the call; return the row, and False where its key was used before: that call is it."""
    # Another group may give the tool by now; the constraint below is for one group.
    if caller.is_united and (known := _earlier(call, caller)):
        return known, False
    try:
        # Without a key nothing can be there before: one statement needs no transaction.
        plain = not (call.idempotency_key or call.state == State.WAITING or call.acts_for_other)
        with nullcontext() if plain else transaction.atomic():
            if call.state == State.WAITING:
                people = lock_queue_of(call)
                if (earlier := _earlier(call, caller)) is not None:
                    return earlier, False
                check_places(call, people)
            if call.state == State.QUEUED:
                queue(call)
            else:
                call.save(force_insert=True)
            if call.acts_for_other:
                _record_acting(call)
    except IntegrityError:
        earlier = _earlier(call, caller)
        if earlier is None:
            raise
        return earlier, False
    if call.state == State.QUEUED:
        send_on_commit(call)
    if call.state == State.WAITING:
        call.refresh_from_db(fields=["expires_at"])
    return call, True


def _record_acting(call: Call) -> None:
    details = {"call": str(call.pk), "arguments": call.arguments_hash}
    record(by=None, action="call.acted_for", target=target_of(call), details=details)


def _earlier(call: Call, caller: Caller) -> Call | None:
    """Return the call that the key has begun. Raises KeyUsedError where it was another one.

    It is looked for among the calls of the same sender, who is the actor, or the API key that has
    no owner: another sender who acts for the same user gets no answer of theirs.
    """
    if not call.idempotency_key:
        return None
    sender = "key_id" if call.actor_id is None else "actor_id"
    same_key = {name: getattr(call, name) for name in (*_ONE_KEY, sender)}
    if sender == "key_id":
        same_key["actor_id"] = None
    earlier = Call.objects.filter(
        group__in=caller.group_ids,
        **{name: value for name, value in same_key.items() if value is not None},
        **{f"{name}__isnull": True for name, value in same_key.items() if value is None},
    ).first()
    if earlier is not None and _asked(earlier) != _asked(call):
        raise KeyUsedError
    return earlier


# Beside the groups: the call is in the one that gives the tool.
_ONE_KEY = ("user_id", "credential", "idempotency_key")


def _asked(call: Call) -> tuple[str, int | None, str]:
    return call.full_name, call.space_id, call.arguments_hash
