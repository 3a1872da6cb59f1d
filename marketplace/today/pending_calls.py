"""Calls that wait for a person, and decisions about several of them at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet

from acl.rights.approvers import approver_of, eligibility_of
from acl.visible_text.json_text import Rendering
from discovery.calls.approval_queue import list_waiting
from discovery.calls.approvals import (
    CannotDecideError,
    MayNotDecideError,
    approvals_of,
    approve_call,
    reject_call,
    waiting,
)
from discovery.calls.call_arguments import digest_of, render_call
from discovery.calls.call_queries import TooLateError, cancel_call
from discovery.models import Call
from marketplace.today.section import Decisions, read_choices

MOST = 20
# A longer call is approved on its own page, where everything can be opened and compared.
MOST_LINES = 24


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A pending call with its arguments, and why it cannot be decided in the list, or ""."""

    call: Call
    rendering: Rendering
    stuck: bool
    is_short: bool

    @property
    def choice(self) -> str:
        """Return the value of its checkbox: the call, and the digest of what is displayed."""
        return f"{self.call.pk}:{digest_of(self.call)}"

    @property
    def can_be_chosen(self) -> bool:
        """Return True if everything that is approved can be seen in the list."""
        return self.is_short and not self.stuck and not self.asked_by_guard

    @property
    def asked_by_guard(self) -> bool:
        """Return True if the guard on flows asks about the call."""
        return (self.call.flow or {}).get("verdict") == "asks"


@dataclass(frozen=True, slots=True)
class PendingCalls:
    """Pending calls for a person to deal with, oldest first, and the number of all."""

    rows: tuple[PendingCall, ...] = ()
    count: int = 0


def list_to_decide(person: User) -> PendingCalls:
    """Return the calls that this person may decide, and those that nobody may, oldest first."""
    # The rule needs four columns of each call; the whole rows are read for those in the list only.
    queue = [call for call in list_waiting() if not call.reason]
    verdicts = eligibility_of(queue, approver_of(person))
    mine = [one.pk for one in queue if verdicts[one.pk].stuck or not verdicts[one.pk].objection]
    calls = approvals_of(person).filter(pk__in=mine[:MOST]).order_by("created_at", "pk")
    rows = tuple(_pending(call, stuck=verdicts[call.pk].stuck) for call in calls)
    return PendingCalls(rows, len(mine))


def list_own_pending(person: User) -> PendingCalls:
    """Return the person's own calls that wait for an approver, oldest first."""
    own = _own(person)
    rows = list(own.select_related("user", "group", "actor", "capability__integration")[:MOST])
    return PendingCalls(tuple(_pending(call, stuck=False) for call in rows), own.count())


def _own(person: User) -> "QuerySet[Call]":
    # A call leaves the queue when its tool may no longer be used, so no hidden name is shown.
    return waiting(Call.objects.filter(user=person, needs_approval=True))


def _pending(call: Call, *, stuck: bool) -> PendingCall:
    rendering = render_call(call)
    lines = [line for argument in rendering.arguments for line in argument.lines]
    folded = any(one.is_long for one in rendering.arguments) or any(one.is_long for one in lines)
    is_short = not rendering.problem and not folded and len(lines) <= MOST_LINES
    return PendingCall(call, rendering, stuck, is_short)


def decide_each(*, by: User, choices: Sequence[str], approve: bool, note: str) -> Decisions:
    """Approve or reject the chosen calls, each for itself: one refusal stops no other."""
    shown = read_choices(choices)
    calls = _find(approvals_of(by), shown)
    refusals = []
    for call in calls:
        try:
            if approve:
                approve_call(by=by, call=call, digest=shown[str(call.pk)], note=note)
            else:
                reject_call(by=by, call=call, note=note)
        except (CannotDecideError, MayNotDecideError) as refused:
            refusals.append(f"{call.full_name}: {refused}")
    return Decisions(len(calls) - len(refusals), tuple(refusals))


def cancel_each(*, by: User, choices: Sequence[str]) -> Decisions:
    """Cancel the chosen calls among the person's own."""
    calls = _find(_own(by), read_choices(choices))
    refusals = []
    for call in calls:
        try:
            cancel_call(by=by, call=call)
        except TooLateError as late:
            refusals.append(f"{call.full_name}: {late}")
    return Decisions(len(calls) - len(refusals), tuple(refusals))


def _find(calls: "QuerySet[Call]", shown: dict[str, str]) -> list[Call]:
    chosen = []
    for key in list(shown)[:MOST]:
        try:
            chosen.append(UUID(key))
        except ValueError:
            continue  # somebody typed it: no call has such a key
    return list(calls.filter(pk__in=chosen).order_by("created_at", "pk"))
