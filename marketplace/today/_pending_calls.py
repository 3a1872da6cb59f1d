"""Calls that wait for a person, and decisions about several of them at once."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet

from acl.rights.approvers import approver_of, eligibility_of
from acl.visible_text.canonical_json import Rendering
from discovery.calls.approval_queue import list_waiting
from discovery.calls.approvals import approvals_of, waiting
from discovery.calls.arguments import digest_of, render_call
from discovery.calls.bulk_approval import decide_in_bulk, fits_a_list, is_asked_by_guard
from discovery.calls.queries import TooLateError, cancel_call
from discovery.models import Call
from marketplace.today._section import Decisions, read_choices

MOST = 20


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
        return is_asked_by_guard(self.call)


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
    mine = [
        waiting_call.pk
        for waiting_call in queue
        if verdicts[waiting_call.pk].stuck or not verdicts[waiting_call.pk].objection
    ]
    calls = approvals_of(person).filter(pk__in=mine[:MOST]).order_by("created_at", "pk")
    rows = tuple(_pending(call, stuck=verdicts[call.pk].stuck) for call in calls)
    return PendingCalls(rows, len(mine))


def list_own_pending(person: User) -> PendingCalls:
    """Return the person's own calls that wait for an approver, oldest first."""
    own_calls = _own(person)
    rows = list(
        own_calls.select_related("user", "group", "actor", "capability__integration")[:MOST]
    )
    return PendingCalls(tuple(_pending(call, stuck=False) for call in rows), own_calls.count())


def _own(person: User) -> "QuerySet[Call]":
    # A call leaves the queue when its tool may no longer be used, so no hidden name is shown.
    return waiting(Call.objects.filter(user=person, needs_approval=True))


def _pending(call: Call, *, stuck: bool) -> PendingCall:
    rendering = render_call(call)
    return PendingCall(call, rendering, stuck, fits_a_list(rendering))


def decide_each(*, by: User, choices: Sequence[str], approve: bool, note: str) -> Decisions:
    """Approve or reject the chosen calls as they were displayed."""
    decided = decide_in_bulk(by=by, digests=_read_seen(choices), approve=approve, note=note)
    return Decisions(decided.done, decided.refusals)


def cancel_each(*, by: User, choices: Sequence[str]) -> Decisions:
    """Cancel the chosen calls among the person's own."""
    calls = list(_own(by).filter(pk__in=list(_read_seen(choices))).order_by("created_at", "pk"))
    refusals = []
    for call in calls:
        try:
            cancel_call(by=by, call=call)
        except TooLateError as late:
            refusals.append(f"{call.full_name}: {late}")
    return Decisions(len(calls) - len(refusals), tuple(refusals))


def _read_seen(choices: Sequence[str]) -> dict[UUID, str]:
    """Return the digest of what was displayed, by call."""
    digests = {}
    for key, digest in list(read_choices(choices).items())[:MOST]:
        with suppress(ValueError):  # somebody typed it: no call has such a key
            digests[UUID(key)] = digest
    return digests
