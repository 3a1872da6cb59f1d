"""Approving and rejecting calls: an approver is not the asker, and approves what was displayed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from acl.actor import current_chain
from acl.audit.recorder import record
from acl.keys.lifecycle import KeyHolder
from acl.models import AccessRequest
from acl.rights.approvers import Eligibility, approver_of, eligibility_of
from acl.visible_text.canonical_json import Rendering
from discovery.calls._permission import permitted
from discovery.calls.approval_queue import list_leaving, list_waiting
from discovery.calls.arguments import digest_of, render_call
from discovery.calls.queries import target_of
from discovery.calls.state import BEGIN_WITHIN_SECONDS, LEFT_QUEUE, move, send_on_commit, unexpired
from discovery.models import Call

State, Way = Call.State, Call.Way


class MayNotDecideError(Exception):
    """The person may not decide about this call."""


class CannotDecideError(Exception):
    """The call is no longer pending, or it is not what the person was shown."""


def approvals_of(principal: KeyHolder | User) -> QuerySet[Call]:
    """Return the calls to decide about: all for staff; for an admin key, those of what it
    administers."""
    calls = Call.objects.filter(needs_approval=True).select_related(
        "user", "group", "actor", "decided_by", "capability__integration"
    )
    if isinstance(principal, KeyHolder):
        return calls.filter(principal.administered())
    return calls if principal.is_staff else calls.none()


def waiting(calls: QuerySet[Call]) -> QuerySet[Call]:
    """Return the pending calls that may still be approved, oldest first."""
    leaving = [call.pk for call in list_leaving()]
    open_ones = calls.filter(unexpired(), state=State.WAITING).exclude(pk__in=leaving)
    return open_ones.order_by("created_at", "pk")


def decided(calls: QuerySet[Call]) -> QuerySet[Call]:
    """Return the calls that are no longer pending, newest first."""
    return calls.exclude(unexpired(), state=State.WAITING).order_by("-created_at", "pk")


class PendingCounts(NamedTuple):
    """Numbers of pending calls and of open access requests."""

    calls: int
    wishes: int


def count_waiting(*, by: User) -> PendingCounts:
    """Count what is pending for this person. Raw SQL: every page of an admin needs it.

    Calls that nobody may approve count too: an admin has to do something about them.
    """
    with connection.cursor() as cursor:
        cursor.execute(_PENDING, [State.WAITING, AccessRequest.State.OPEN])
        some_wait, wishes = cursor.fetchone()
    if not some_wait:
        return PendingCounts(0, wishes)
    calls = [call for call in list_waiting() if not call.reason]
    verdicts = eligibility_of(calls, approver_of(by)).values()
    return PendingCounts(
        sum(verdict.stuck or not verdict.objection for verdict in verdicts), wishes
    )


def waiting_by_place(user: User) -> dict[str, int]:
    """Count what is pending for a person, by section of the navigation."""
    calls, requests = count_waiting(by=user)
    return {"access": requests, "approvals": calls}


_PENDING = """
SELECT EXISTS (SELECT FROM discovery_call
               WHERE state = %s AND (expires_at IS NULL OR expires_at > statement_timestamp())),
       (SELECT count(*) FROM acl_accessrequest WHERE state = %s)
"""


def check_eligibility(*, by: User | None, calls: Sequence[Call]) -> dict[UUID, Eligibility]:
    """Return whether this person may decide about each call, with the credential of the request."""
    return eligibility_of(calls, approver_of(by))


def find_objection(*, by: User | None, call: Call) -> str:
    """Return why this person may not decide about the call, or ""."""
    return check_eligibility(by=by, calls=[call])[call.pk].objection


@transaction.atomic
def approve_call(*, by: User | None, call: Call, digest: str, note: str = "") -> Call:
    """Approve a pending call and queue it. `digest` is that of the call as it was displayed."""
    _check(by, call)
    for leaving in list_leaving([call.pk]):
        raise CannotDecideError(_(LEFT_QUEUE[leaving.reason]))
    if digest != digest_of(call):
        raise CannotDecideError(_("The call has changed since it was displayed. Review it again."))
    if render_call(call).problem:
        raise CannotDecideError(_("The call cannot be displayed, so it can only be rejected."))
    capability = permitted(call)
    if capability is None:
        raise CannotDecideError(_("The requester may no longer use the tool."))
    if capability.definition_hash != call.definition_hash:
        raise CannotDecideError(
            _("The tool has changed since the call was requested. It must be requested again.")
        )
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
    """Reject a pending call; `note` gives the reason."""
    _check(by, call)
    _decide(call, State.REJECTED, by=by, note=note)
    return call


def _check(by: User | None, call: Call) -> None:
    if reason := find_objection(by=by, call=call):
        raise MayNotDecideError(reason)


def _decide(call: Call, to: Call.State, *, by: User | None, note: str, **values: object) -> None:
    """Move the call on by compare-and-set: of two people who decide at once, one succeeds."""
    credential = current_chain().credential
    chain = {
        "decided_credential": credential.kind,
        "decided_key_prefix": credential.prefix,
        "decided_key_name": credential.name,
    }
    values_set = {"decided_by": by, "decided_at": Now(), "note": note, **chain, **values}
    if call.state != State.WAITING or not move(call, to, unexpired(), **values_set):
        call.refresh_from_db()
        if call.state == State.WAITING:
            raise CannotDecideError(_("The call is no longer pending: it has expired."))
        raise CannotDecideError(
            _("The call is no longer pending. Its state is “%(state)s”.")
            % {"state": call.get_state_display()}
        )
    verdict = "call.reject" if to == State.REJECTED else "call.approve"
    details = {"call": str(call.pk), "arguments": call.arguments_hash, "note": note}
    groups = [call.group_id]
    record(by=by, action=verdict, target=target_of(call), details=details, groups=groups)
    call.refresh_from_db()


# Decisions about several calls at once, each exactly as it was displayed in a list.

# A longer call is approved on its own page, where everything can be opened and compared.
MOST_LINES = 24


@dataclass(frozen=True, slots=True)
class BulkDecisions:
    """The number of calls decided, and what was refused."""

    done: int
    refusals: tuple[str, ...]


def fits_a_list(rendering: Rendering) -> bool:
    """Return True if a list shows everything that is approved."""
    lines = [line for argument in rendering.arguments for line in argument.lines]
    folded = any(argument.is_long for argument in rendering.arguments)
    folded = folded or any(line.is_long for line in lines)
    return not rendering.problem and not folded and len(lines) <= MOST_LINES


def is_asked_by_guard(call: Call) -> bool:
    """Return True if the guard on flows asks about the call."""
    return (call.flow or {}).get("verdict") == "asks"


def bulk_objection(call: Call) -> str:
    """Return why the call is approved on its own page only, or ""."""
    if is_asked_by_guard(call):
        return _("The data-flow guard asks about this call. Review it on its page.")
    if not fits_a_list(render_call(call)):
        return _("Its arguments are too long for this list. Review it on its page.")
    return ""


def decide_in_bulk(
    *, by: User, digests: Mapping[UUID, str], approve: bool, note: str
) -> BulkDecisions:
    """Approve or reject the calls, each for itself: one refusal stops no other.

    `digests` has the digest of each call as it was displayed. What a list does not show in full is
    not approved by one, whatever the request says.
    """
    calls = approvals_of(by).filter(pk__in=list(digests)).order_by("created_at", "pk")
    done, refusals = 0, []
    for call in calls:
        try:
            _decide_as_displayed(
                by=by, call=call, digest=digests[call.pk], approve=approve, note=note
            )
            done += 1
        except (CannotDecideError, MayNotDecideError) as refused:
            refusals.append(f"{call.full_name}: {refused}")
    return BulkDecisions(done, tuple(refusals))


def _decide_as_displayed(*, by: User, call: Call, digest: str, approve: bool, note: str) -> None:
    if not approve:
        if digest != digest_of(call):
            raise CannotDecideError(
                _("The call has changed since it was displayed. Review it again.")
            )
        reject_call(by=by, call=call, note=note)
        return
    if objection := bulk_objection(call):
        raise CannotDecideError(objection)
    approve_call(by=by, call=call, digest=digest, note=note)
