"""Callers in questions about rights. Admins may also ask about people without any rights."""

from django.contrib.auth.models import Group, User
from django.db.models import Q
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from acl.delegation.key_holder import KeyHolder
from acl.http.request_callers import caller_of, note_look, principal_of
from acl.http.scopes import has_scope
from acl.models import ApiKey, Space
from acl.rights.caller import Caller
from acl.rights.caller_lookup import CallerRefused


def is_admin(request: Request) -> bool:
    """Return True for staff, and for keys with the scope."""
    return has_scope(request.user, ApiKey.Scope.ADMIN)


def own_group(request: Request, name: str = "") -> int | None:
    """Return the one group of a key that the request is about; None for people, who know all.

    Raises ValidationError where the key covers several and the request names none.
    """
    principal = principal_of(request)
    if not isinstance(principal, KeyHolder):
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
    """Limit rows to the groups that the sender may know of: a key's own, to people all."""
    principal = principal_of(request)
    return principal.in_groups(field) if isinstance(principal, KeyHolder) else Q()


def asked_about(request: Request, *, user: str, group: str, space: str) -> Caller:
    """Return the caller named by the question.

    That is somebody the sender may act for, or, for admins, anybody they may know of.
    """
    if not user or not is_admin(request):
        caller = caller_of(request, user=user or None, group=group or None, space=space or None)
        if caller.is_united:
            raise ValidationError({"group": "An answer is explained by group: name one."})
        return caller
    person, place = _person(request, user), _group(request, user, group)
    if person is None or place is None:
        raise CallerRefused
    note_look(request, person)
    if not space:
        return Caller(person.pk, place.pk)
    found = Space.objects.filter(group=place, slug=space).first()
    if found is None:
        raise CallerRefused
    return Caller(person.pk, place.pk, found.pk)


def _person(request: Request, name: str) -> User | None:
    """Return anybody; to a key, members of its groups, active or not."""
    return User.objects.filter(groups_known(request, "groups"), username=name).first()


def _group(request: Request, user: str, name: str) -> Group | None:
    """Return the group named, else the user's first by name; to a key, one of its own."""
    groups = Group.objects.filter(groups_known(request, "pk")).order_by("name", "pk")
    return (groups.filter(name=name) if name else groups.filter(user__username=user)).first()
