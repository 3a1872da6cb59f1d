"""The caller of a request, and the caller that a question about rights names."""

from dataclasses import replace

from django.contrib.auth.models import Group, User
from django.db.models import Q, QuerySet
from rest_framework.exceptions import NotAuthenticated, PermissionDenied, ValidationError
from rest_framework.request import Request

from acl.actor import note_subject
from acl.audit.recorder import record_look
from acl.models import ApiKey, Space
from acl.models.api_key import Rank, rank_of
from acl.rights.caller_lookup import (
    Caller,
    CallerRefused,
    application_of,
    caller_for,
    check_acting,
)
from acl.rights.delegation import person_behind
from acl.rights.delegation.authority import KeyHolder
from acl.web._rate_limits import check_person
from acl.web.authentication import has_scope

SESSION_GROUP = "group"  # the group that a person works in at the moment, by name


def principal_of(request: Request) -> KeyHolder | User:
    """Return the sender of the request; `HasScope` has ensured that there is one."""
    sender = request.auth or request.user
    if not isinstance(sender, KeyHolder | User):
        raise NotAuthenticated
    return sender


def person_of(request: Request) -> User | None:
    """Return the person for the audit log: the sender, or the owner of the key."""
    return person_behind(principal_of(request))


def installation_admin(request: Request) -> User:
    """Return the admin who acts on the whole installation: in a session, or by a key for all groups
    that belongs to one. Any other key acts on its groups only, whoever owns it: the one rule is
    `KeyHolder.is_of_the_installation`.
    """
    principal, person = acting_admin(request), person_of(request)
    if isinstance(principal, KeyHolder) and not principal.is_of_the_installation:
        raise PermissionDenied(
            "This is about the whole installation, and the key is for some groups: "
            "use an admin's key for all groups."
        )
    if person is None:
        raise NotAuthenticated
    return person


def acting_admin(request: Request) -> KeyHolder | User:
    """Return the credential of an admin, for services that compare it with what it changes: a
    session, or a key that belongs to an admin. A key without an owner, or one that was made when
    its owner had a lower rank, changes neither people nor groups.
    """
    principal = principal_of(request)
    person = person_behind(principal)
    if person is None or rank_of(person) == Rank.MEMBER:
        raise PermissionDenied("Only an admin, or a key that belongs to one, may do this.")
    if isinstance(principal, KeyHolder) and principal.rank < rank_of(person):
        raise PermissionDenied(
            "This key was made when its owner had fewer rights. Create a new one for this."
        )
    return principal


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
    application: str | None = None,
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
    caller = caller_for(
        principal,
        user=user,
        group=group,
        space=space,
        application=application,
        usual_group=usual,
    )
    note_subject(
        caller.user_id,
        user or ("" if isinstance(principal, KeyHolder) else principal.get_username()),
    )
    if isinstance(principal, KeyHolder) and caller.user_id:
        check_person(request, principal, caller.user_id)
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


def is_admin(request: Request) -> bool:
    """Return True for staff, and for keys with the scope."""
    return has_scope(request.user, ApiKey.Scope.ADMIN)


def own_group(request: Request, name: str = "") -> int | None:
    """Return the one group of a key that the request is about; None for people and for keys of
    the whole installation, who know all.

    Raises ValidationError where the key covers several and the request names none.
    """
    principal = principal_of(request)
    if not isinstance(principal, KeyHolder):
        return None
    if principal.is_of_the_installation:
        return None
    if principal.group_ids is not None and len(principal.group_ids) == 1:
        return min(principal.group_ids)
    if not name:
        raise ValidationError({"group": "The key works in several groups: name one of them."})
    group = Group.objects.filter(principal.in_groups("pk"), name=name).first()
    if group is None:
        raise CallerRefused
    return group.pk


def groups_known(request: Request, field: str = "group") -> Q:
    """Limit rows to the groups that the sender may know of: all to people and to keys
    of the whole installation, its own to any other key."""
    principal = principal_of(request)
    return principal.administered(field) if isinstance(principal, KeyHolder) else Q()


def administers_all(request: Request) -> bool:
    """Return True for staff in a session, and for keys of the whole installation."""
    principal = principal_of(request)
    if isinstance(principal, KeyHolder):
        return principal.is_of_the_installation
    return principal.is_staff


def deciding_group(request: Request, name: str) -> Group | None:
    """Return the group for which the sender decides; None for everyone, which people do, and keys
    of the whole installation that name no group."""
    key_group = own_group(request, name)
    if key_group is not None:
        return Group.objects.get(pk=key_group)
    if not name or not isinstance(principal_of(request), KeyHolder):
        return None
    if (group := Group.objects.filter(name=name).first()) is None:
        raise CallerRefused
    return group


def people_known(request: Request) -> QuerySet[User]:
    """Return the people that the sender may know of: all, or members of the key's groups."""
    principal = principal_of(request)
    if not isinstance(principal, KeyHolder) or principal.is_of_the_installation:
        return User.objects.all()
    members = User.objects.filter(principal.in_groups("groups"))
    return User.objects.filter(pk__in=members.values("pk"))


def named_application(request: Request, name: str) -> int | None:
    """Return the application that a question names, else that of the sender's key."""
    return application_of(principal_of(request), name or None)


def caller_in_question(
    request: Request, *, user: str, group: str, space: str, application: str
) -> Caller:
    """Return the caller whom a question about rights names.

    That is someone the sender may act for, or, for admins, anyone they may know of, even without
    any rights.
    """
    if not user or not is_admin(request):
        caller = caller_of(
            request,
            user=user or None,
            group=group or None,
            space=space or None,
            application=application or None,
        )
        if caller.is_united:
            raise ValidationError({"group": "An explanation is for one group: name it."})
        return caller
    # The named person, active or not; to a key, only a member of its groups.
    # The named group, else the user's first by name; to a key, one of its own.
    groups = Group.objects.filter(groups_known(request, "pk")).order_by("name", "pk")
    person, place = (
        User.objects.filter(groups_known(request, "groups"), username=user).first(),
        (groups.filter(name=group) if group else groups.filter(user__username=user)).first(),
    )
    if person is None or place is None:
        raise CallerRefused
    note_look(request, person)
    caller = Caller(person.pk, place.pk, application_id=named_application(request, application))
    if not space:
        return caller
    space_row = Space.objects.filter(group=place, slug=space).first()
    if space_row is None:
        raise CallerRefused
    return replace(caller, space_id=space_row.pk)


def _kind_of(request: Request) -> str:
    """Return the kind of a look: the name of the route without its beginning."""
    match = request.resolver_match
    return str(match.url_name if match else "").removeprefix("api-")
