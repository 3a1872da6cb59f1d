"""Queries of calls, and their cancellation."""

from collections.abc import Iterator, Sequence
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _

from acl.actor import CredentialKind, current_chain
from acl.audit.recorder import record
from acl.keys.lifecycle import KeyHolder
from acl.rights.caller_lookup import Caller, rows_of_application
from acl.rights.delegation import acts_for_others
from catalog.models import Capability
from discovery.calls.approval_queue import withdraw_calls
from discovery.calls.channel import iterate_states, wait_for_end
from discovery.calls.state import LEFT_QUEUE, move
from discovery.models import Call

State = Call.State


class TooLateError(Exception):
    """The call is no longer pending."""

    def __init__(self, call: Call) -> None:
        super().__init__(
            _("The call is no longer pending. Its state is “%(state)s”.")
            % {"state": call.get_state_display()}
        )


def calls_of(principal: KeyHolder | User) -> QuerySet[Call]:
    """Return the calls that a principal may read: their own, and those they requested as an actor.

    Results belong to the call's user alone: admins see pending calls, but no results.
    """
    calls = Call.objects.filter(user__is_active=True, user__groups=F("group"))
    if isinstance(principal, KeyHolder):
        own_rows = rows_of_application(principal.application_id)
        calls = calls.filter(principal.in_groups(), own_rows)
        return calls if principal.acts_for_users else calls.filter(user=principal.owner_id)
    mine = Q(user=principal)
    if acts_for_others(principal):
        mine |= Q(actor=principal, credential=CredentialKind.SESSION)
    return calls.filter(mine)


def find_call(*, principal: KeyHolder | User, pk: UUID, wait_seconds: float = 0) -> Call | None:
    """Return a readable call, waiting up to `wait_seconds` for its end.

    None if there is no such call or its user may no longer use the tool.
    """
    return _wait_and_find(calls_of(principal), pk, wait_seconds)


# What only the readers of a call may see; everyone else who may see the row gets the facts.
PRIVATE_FIELDS = ("arguments_json", "result_json", "message", "flow", "dialogue", "questions")


def has_made(principal: KeyHolder | User, call: Call) -> bool:
    """Return True for the credential that made the call. It alone answers what the call's server
    asks: another key of the same owner is another program."""
    if isinstance(principal, KeyHolder):
        return call.key_id == principal.key_id
    return call.key_id is None and call.actor_id == principal.pk


def may_read_contents(principal: KeyHolder | User, call: Call) -> bool:
    """Return True for the call's user, and for whoever acted for them, while they may use the
    tool. All pages ask this, Django's admin included."""
    return find_call(principal=principal, pk=call.pk) is not None


def find_own_call(*, caller: Caller, pk: UUID, wait_seconds: float = 0) -> Call | None:
    """Return a call made for the caller in their groups, waiting up to `wait_seconds` for its end.

    An actor finds only calls that they requested themselves.
    """
    own_calls = Call.objects.filter(
        caller.application_rows, user=caller.user_id, group__in=caller.group_ids
    )
    chain = current_chain()
    if chain.acts_for_other(caller.user_id):
        own_calls = own_calls.filter(actor=chain.actor.id, credential=chain.credential.kind)
    return _wait_and_find(own_calls, pk, wait_seconds)


def _wait_and_find(calls: QuerySet[Call], pk: UUID, wait_seconds: float) -> Call | None:
    call = _find_readable(calls, pk)
    if call is None or wait_seconds <= 0 or call.state in Call.ENDED:
        return call
    wait_for_end(call, wait_seconds)
    return _find_readable(calls, pk)


def follow_call(*, principal: KeyHolder | User, call: Call, seconds: float) -> Iterator[Call]:
    """Yield the call at each of its states for up to `seconds`. It is read again each time, so that
    the stream ends as soon as the principal may no longer read it."""
    for current in iterate_states(call, seconds):
        readable = find_call(principal=principal, pk=current.pk)
        if readable is None:
            return
        yield readable


def _find_readable(calls: QuerySet[Call], pk: UUID) -> Call | None:
    """Return the call if its tool may still be used. A call that left the queue is returned
    without its tool: it says why it left, and nothing else."""
    call = calls.filter(pk=pk).first()
    if call is not None and call.state == State.WAITING:
        withdraw_calls([pk])  # the sweeper may not have run yet
        call = calls.filter(pk=pk).first()
    if call is None:
        return None
    tool = Capability.objects.filter(pk=call.capability_id or 0)
    tools = Capability.objects.usable_by(call.caller, unavailable=True, among=tool, apps=True)
    call.capability = tools.select_related("integration").first()
    if call.capability is None and not (
        call.state == State.CANCELLED and call.reason in LEFT_QUEUE
    ):
        return None
    return _without_lost_name(call)


def _without_lost_name(call: Call) -> Call:
    """Blank the tool's name if the caller may no longer use it."""
    if call.capability is None:
        call.full_name = ""
    return call


def list_own_calls(*, caller: Caller | None) -> list[Call]:
    """Return the person's 50 newest calls that need or needed approval, for tools they may use."""
    if caller is None:
        return []
    calls = Call.objects.filter(
        caller.application_rows,
        user=caller.user_id,
        group__in=caller.group_ids,
        needs_approval=True,
    )
    newest = list(
        calls.select_related("group", "actor", "decided_by", "user").order_by("-created_at")[:50]
    )
    usable = _usable_capabilities(newest)
    for call in newest:
        call.capability = usable.get(call.capability_id or 0)
    readable = [call for call in newest if call.capability or call.reason in LEFT_QUEUE]
    return [_without_lost_name(call) for call in readable]


def blank_lost_names(calls: Sequence[Call]) -> None:
    """Blank the names of tools that the calls' own users may no longer use."""
    usable = _usable_capabilities(calls)
    for call in calls:
        if call.capability_id not in usable:
            call.full_name = ""


def _usable_capabilities(calls: Sequence[Call]) -> dict[int, Capability]:
    """Return the calls' tools that their users may still use, by one statement a caller."""
    usable: dict[int, Capability] = {}
    for asked_by in {call.caller for call in calls}:  # one for each space
        keys = [call.capability_id or 0 for call in calls if call.caller == asked_by]
        called = Capability.objects.filter(pk__in=keys)
        theirs = Capability.objects.usable_by(asked_by, unavailable=True, among=called, apps=True)
        usable |= theirs.select_related("integration").in_bulk()
    return usable


def list_acts_of_others(*, user: User) -> list[Call]:
    """Return the user's 20 newest calls that an actor requested for them."""
    calls = Call.objects.filter(~Q(actor=F("user")), user=user, credential=CredentialKind.SESSION)
    return list(calls.select_related("actor", "group", "user").order_by("-created_at", "pk")[:20])


def acts_context(user: User) -> dict[str, list[Call]]:
    """Return those calls as the context of a person's account page."""
    return {"acts": list_acts_of_others(user=user)}


@transaction.atomic
def cancel_call(*, by: User | None, call: Call) -> Call:
    """Cancel a pending call. Raises TooLateError if it is no longer pending."""
    if call.state not in (State.WAITING, State.QUEUED) or not move(call, State.CANCELLED):
        call.refresh_from_db()
        raise TooLateError(call)
    details = {"call": str(call.pk)}
    groups = [call.group_id]
    record(by=by, action="call.cancel", target=target_of(call), details=details, groups=groups)
    return call


def target_of(call: Call) -> str:
    """Return the call's name in the audit log, which never contains arguments."""
    return f"{call.full_name} for {call.user} in {call.group}"
