"""Decisions about several calls at once, each exactly as it was displayed in a list."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from acl.visible_text.canonical_json import Rendering
from discovery.calls.approvals import (
    CannotDecideError,
    MayNotDecideError,
    approvals_of,
    approve_call,
    reject_call,
)
from discovery.calls.arguments import digest_of, render_call
from discovery.models import Call

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
            _decide(by=by, call=call, digest=digests[call.pk], approve=approve, note=note)
            done += 1
        except (CannotDecideError, MayNotDecideError) as refused:
            refusals.append(f"{call.full_name}: {refused}")
    return BulkDecisions(done, tuple(refusals))


def _decide(*, by: User, call: Call, digest: str, approve: bool, note: str) -> None:
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
