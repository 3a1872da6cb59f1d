"""What people ask for when they miss a tool, and what an admin answers."""

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now

from acl.audit.recorder import record
from acl.models import AccessRequest
from acl.rights.caller import Caller

MOST_OPEN = 20


class TooManyRequests(Exception):
    """The person has as many open requests as anyone may have."""

    def __init__(self) -> None:
        super().__init__(
            f"You have {MOST_OPEN} open requests. Please wait for an answer to one of them."
        )


class RequestAnswered(Exception):
    """Somebody else was quicker."""

    def __init__(self, request: AccessRequest) -> None:
        super().__init__(f"This request has been {request.state} already.")


@transaction.atomic
def request_access(*, by: User, caller: Caller, wish: str) -> AccessRequest:
    """Keep a wish for an admin to look at; the same wish twice is one request."""
    mine = AccessRequest.objects.filter(
        user=by, group=caller.group_id, state=AccessRequest.State.OPEN
    )
    if (same := mine.filter(wish=wish).first()) is not None:
        return same
    if mine.count() >= MOST_OPEN:
        raise TooManyRequests
    made = AccessRequest.objects.create(user=by, group_id=caller.group_id, wish=wish)
    record(by=by, action="request.opened", target=f"request {made.pk} of {by} in {made.group}")
    return made


def grant_request(*, by: User, request: AccessRequest, note: str = "") -> AccessRequest:
    """Tell the person yes. What they get is given apart from this, in the same transaction."""
    return _answer(request, AccessRequest.State.GRANTED, by=by, note=note)


def decline_request(*, by: User, request: AccessRequest, note: str = "") -> AccessRequest:
    """Tell the person no, and why."""
    return _answer(request, AccessRequest.State.DECLINED, by=by, note=note)


@transaction.atomic
def _answer(
    request: AccessRequest, state: AccessRequest.State, *, by: User, note: str
) -> AccessRequest:
    """The request with its answer; one that has an answer keeps it."""
    stored = AccessRequest.objects.select_for_update().get(pk=request.pk)
    if stored.state != AccessRequest.State.OPEN:
        raise RequestAnswered(stored)
    stored.state, stored.note = state, note
    stored.answered_by, stored.answered_at = by, Now()
    stored.save(update_fields=["state", "note", "answered_by", "answered_at"])
    stored.refresh_from_db(fields=["answered_at"])
    record(
        by=by,
        action=f"request.{state}",
        target=f"request {stored.pk} of {stored.user} in {stored.group}",
        details={"wish": stored.wish, "note": note},
    )
    return stored
