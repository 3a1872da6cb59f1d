"""Approving calls: what was shown is what is approved, by somebody else than who asked, once."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from acl.actor.request_context import current_chain
from acl.audit.recorder import record
from acl.keys.key_lifecycle import KeyHolder
from acl.models import AccessRequest
from discovery.calls.approval_queue import list_leaving, list_waiting
from discovery.calls.approvers import Eligibility, approver_of, eligibility_of
from discovery.calls.argument_text import render_call
from discovery.calls.call_digests import digest_of
from discovery.calls.call_failures import LEFT_QUEUE
from discovery.calls.call_permission import permitted
from discovery.calls.call_queries import target_of
from discovery.calls.call_state import BEGIN_WITHIN_SECONDS, move, send_on_commit, unexpired
from discovery.models import Call

State, Way = Call.State, Call.Way


class MayNotDecideError(Exception):
    """This person does not decide about this call."""


class CannotDecideError(Exception):
    """There is nothing to decide any more, or it is not what was looked at."""


def approvals_of(principal: KeyHolder | User) -> QuerySet[Call]:
    """The calls that somebody may decide about: staff all, an admin key those of its group."""
    calls = Call.objects.filter(needs_approval=True).select_related(
        "user", "group", "actor", "decided_by", "capability__integration"
    )
    if isinstance(principal, KeyHolder):
        return calls.filter(principal.in_groups())
    return calls if principal.is_staff else calls.none()


def waiting(calls: QuerySet[Call]) -> QuerySet[Call]:
    """Those that wait, the oldest first, without those whose asker has lost the right."""
    leaving = [call.pk for call in list_leaving()]
    open_ones = calls.filter(unexpired(), state=State.WAITING).exclude(pk__in=leaving)
    return open_ones.order_by("created_at", "pk")


def decided(calls: QuerySet[Call]) -> QuerySet[Call]:
    """Those that wait no more, the newest first."""
    return calls.exclude(unexpired(), state=State.WAITING).order_by("-created_at", "pk")


class Waiting(NamedTuple):
    """How many calls, and how many people's wishes, wait for somebody of the staff."""

    calls: int
    wishes: int


def count_waiting(*, by: User) -> Waiting:
    """Count what waits for this person, by hand, since it is part of every page of an admin's.

    A call that nobody could approve counts, too: somebody has to do something about it.
    """
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, [State.WAITING, AccessRequest.State.OPEN])
        some_wait, wishes = cursor.fetchone()
    if not some_wait:
        return Waiting(0, wishes)
    calls = [call for call in list_waiting() if not call.reason]
    verdicts = eligibility_of(calls, approver_of(by)).values()
    return Waiting(sum(one.stuck or not one.objection for one in verdicts), wishes)


def waiting_by_place(user: User) -> dict[str, int]:
    """Count what waits for a person, for the rail: by the name of the place where it waits."""
    calls, requests = count_waiting(by=user)
    return {"access": requests, "approvals": calls}


_WAITING = """
SELECT EXISTS (SELECT FROM discovery_call
               WHERE state = %s AND (expires_at IS NULL OR expires_at > now())),
       (SELECT count(*) FROM acl_accessrequest WHERE state = %s)
"""


def verdicts_for(*, by: User | None, calls: Sequence[Call]) -> dict[UUID, Eligibility]:
    """Return for each call whether this person may decide, with the credential at hand."""
    return eligibility_of(calls, approver_of(by))


def why_not(*, by: User | None, call: Call) -> str:
    """Return why this person may not decide; "" where they may."""
    return verdicts_for(by=by, calls=[call])[call.pk].objection


@transaction.atomic
def approve_call(*, by: User | None, call: Call, digest: str, note: str = "") -> Call:
    """Let it go on. `digest` is that of what the person was shown."""
    _check(by, call)
    for leaving in list_leaving([call.pk]):
        raise CannotDecideError(LEFT_QUEUE[leaving.reason])
    if digest != digest_of(call):
        raise CannotDecideError("This is not what you were shown. Look at it again.")
    if render_call(call).problem:
        raise CannotDecideError("The call cannot be displayed, so it can only be rejected.")
    capability = permitted(call)
    if capability is None:
        raise CannotDecideError("Who asked may not use the tool any more.")
    if capability.definition_hash != call.definition_hash:
        raise CannotDecideError("The tool has changed since. It has to be asked for again.")
    by_server = call.way == Way.SERVER
    _decide(
        call,
        State.QUEUED if by_server else State.COMPLETED,
        by=by,
        note=note,
        approved_digest=digest,
        expires_at=Now() + timedelta(seconds=BEGIN_WITHIN_SECONDS),
        sent_at=Now(),
    )
    if by_server:
        send_on_commit(call)
    return call


@transaction.atomic
def reject_call(*, by: User | None, call: Call, note: str) -> Call:
    """Say no, and why."""
    _check(by, call)
    _decide(call, State.REJECTED, by=by, note=note)
    return call


def _check(by: User | None, call: Call) -> None:
    if reason := why_not(by=by, call=call):
        raise MayNotDecideError(reason)


def _decide(call: Call, to: Call.State, *, by: User | None, note: str, **values: object) -> None:
    """One conditional update: of two who decide at once, one does."""
    credential = current_chain().credential
    chain = {
        "decided_credential": credential.kind,
        "decided_key_prefix": credential.prefix,
        "decided_key_name": credential.name,
    }
    told = {"decided_by": by, "decided_at": Now(), "note": note, **chain, **values}
    if call.state != State.WAITING or not move(call, to, unexpired(), **told):
        call.refresh_from_db()
        over = call.state == State.WAITING
        how = "its time is over" if over else f"it is {call.get_state_display()}"
        raise CannotDecideError(f"It does not wait any more: {how}.")
    verdict = "call.reject" if to == State.REJECTED else "call.approve"
    details = {"call": str(call.pk), "arguments": call.arguments_hash, "note": note}
    record(by=by, action=verdict, target=target_of(call), details=details)
    call.refresh_from_db()
