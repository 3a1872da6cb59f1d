"""The caller of a request, for every view that answers for somebody."""

from django.contrib.auth.models import User
from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.request import Request

from acl.actor.request_context import note_subject
from acl.audit.looks import record_look
from acl.delegation import person_behind
from acl.delegation.key_holder import KeyHolder
from acl.models.rank import Rank, rank_of
from acl.rights.caller import Caller
from acl.rights.caller_lookup import caller_for, check_acting

SESSION_GROUP = "group"  # the group that a person works in at the moment, by name


def principal_of(request: Request) -> KeyHolder | User:
    """Return the sender of the request; `HasScope` has made sure that there is one."""
    sender = request.auth or request.user
    if not isinstance(sender, KeyHolder | User):
        raise NotAuthenticated
    return sender


def person_of(request: Request) -> User | None:
    """Return whom the audit log names: the person, or the owner of the key."""
    return person_behind(principal_of(request))


def installation_admin(request: Request) -> User:
    """Return the admin who acts on the whole installation: in a session, or by a key that belongs
    to one. A key without an owner, or one that was made when its owner had a lower rank, acts on
    its groups only.
    """
    principal = principal_of(request)
    person = person_behind(principal)
    if person is None or rank_of(person) == Rank.MEMBER:
        raise PermissionDenied("This takes an admin, or a key that belongs to one.")
    if isinstance(principal, KeyHolder) and principal.rank < rank_of(person):
        raise PermissionDenied(
            "This key was made when its owner had fewer rights. Create a new one for this."
        )
    return person


def is_installation_admin(request: Request) -> bool:
    """Return True if `installation_admin` would answer."""
    try:
        installation_admin(request)
    except PermissionDenied:
        return False
    return True


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
