"""Requests for missing tools, and admins' answers."""

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.models import AccessRequest
from acl.rights.caller_lookup import Caller

MOST_OPEN = 20


class TooManyRequests(Exception):
    """Too many open requests of one person."""

    def __init__(self) -> None:
        super().__init__(
            _("You have %(number)s open requests. Wait for an answer to one of them.")
            % {"number": MOST_OPEN}
        )


class RequestAnswered(Exception):
    """The request has an answer already."""

    def __init__(self, request: AccessRequest) -> None:
        super().__init__(
            _("This request has already been granted.")
            if request.state == AccessRequest.State.GRANTED
            else _("This request has already been declined.")
        )


@transaction.atomic
def request_access(*, by: User, caller: Caller, wish: str) -> AccessRequest:
    """Store a request for an admin. The same request twice counts once."""
    mine = AccessRequest.objects.filter(
        user=by, group=caller.group_id, state=AccessRequest.State.OPEN
    )
    if (same := mine.filter(wish=wish).first()) is not None:
        return same
    if mine.count() >= MOST_OPEN:
        raise TooManyRequests
    access_request = AccessRequest.objects.create(user=by, group_id=caller.group_id, wish=wish)
    record(
        by=by,
        action="request.opened",
        target=f"request {access_request.pk} of {by} in {access_request.group}",
    )
    return access_request


def grant_request(*, by: User, request: AccessRequest, note: str = "") -> AccessRequest:
    """Approve a request. The grant itself is made separately, in the same transaction."""
    return _answer(request, AccessRequest.State.GRANTED, by=by, note=note)


def decline_request(*, by: User, request: AccessRequest, note: str = "") -> AccessRequest:
    """Decline a request, with the reason."""
    return _answer(request, AccessRequest.State.DECLINED, by=by, note=note)


@transaction.atomic
def _answer(
    request: AccessRequest, state: AccessRequest.State, *, by: User, note: str
) -> AccessRequest:
    """Store the answer; RequestAnswered if there is one already."""
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
