"""The caller of a request, for every view that answers for somebody."""

from django.contrib.auth.models import User
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request

from acl.callers import Caller
from acl.request_context import note_subject
from acl.services.callers import caller_for, check_acting
from acl.services.keys import KeyHolder
from acl.services.looks import record_look

SESSION_GROUP = "group"  # the group that a person works in at the moment, by name


def principal_of(request: Request) -> KeyHolder | User:
    """Who sent the request; `HasScope` has made sure that somebody did."""
    sender = request.auth or request.user
    if not isinstance(sender, KeyHolder | User):
        raise NotAuthenticated
    return sender


def person_of(request: Request) -> User | None:
    """Whom the audit log names: the person, or the owner of the key."""
    principal = principal_of(request)
    if isinstance(principal, KeyHolder):
        return User.objects.filter(pk=principal.owner_id).first() if principal.owner_id else None
    return principal


def caller_of(
    request: Request,
    *,
    user: str | None = None,
    group: str | None = None,
    space: str | None = None,
    acting: bool = False,
) -> Caller:
    """Return the caller that the request names, or means by naming nobody, and note them as the
    subject of what it does.

    Looking as another person is recorded; `acting` as one takes a permission.
    """
    principal = principal_of(request)
    if acting:
        check_acting(principal, user=user)
    usual = None if isinstance(principal, KeyHolder) else request.session.get(SESSION_GROUP)
    caller = caller_for(principal, user=user, group=group, space=space, usual_group=usual)
    note_subject(caller.user_id, user or _own_name(principal))
    if isinstance(principal, User) and not acting:
        kind = _kind_of(request)
        record_look(by=principal, subject=caller.user_id, name=user or "", kind=kind)
    return caller


def note_look(request: Request, person: User) -> None:
    """Record that the sender looks at what `person` may use, for admins and their keys."""
    principal = principal_of(request)
    note_subject(person.pk, person.get_username())
    record_look(
        by=person_of(request),
        subject=person.pk,
        name=person.get_username(),
        kind=_kind_of(request),
        key_id=principal.key_id if isinstance(principal, KeyHolder) else 0,
    )


def _kind_of(request: Request) -> str:
    """Return the kind of a look: the name of the route without its beginning."""
    match = request.resolver_match
    return str(match.url_name if match else "").removeprefix("api-")


def _own_name(principal: KeyHolder | User) -> str:
    return "" if isinstance(principal, KeyHolder) else principal.get_username()
