"""Whom a question about rights is about. An admin may ask about people who may do nothing, too."""

from django.contrib.auth.models import Group, User
from rest_framework.request import Request

from acl.api.callers import caller_of, note_look, principal_of
from acl.api.permissions import has_scope
from acl.callers import Caller
from acl.models import ApiKey, Space
from acl.services.callers import CallerRefused
from acl.services.keys import KeyHolder


def is_admin(request: Request) -> bool:
    """Staff, or a key with the scope."""
    return has_scope(request.user, ApiKey.Scope.ADMIN)


def own_group(request: Request) -> int | None:
    """The one group that a key may speak about; None for people."""
    principal = principal_of(request)
    return principal.group_id if isinstance(principal, KeyHolder) else None


def asked_about(request: Request, *, user: str, group: str, space: str) -> Caller:
    """The caller that the question names: somebody whom the sender may act for, or, to an admin,
    anybody whom they may know of."""
    if not user or not is_admin(request):
        return caller_of(request, user=user or None, group=group or None, space=space or None)
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
    """Anybody; to a key, the members of its group, active or not."""
    people, group = User.objects.filter(username=name), own_group(request)
    return (people.filter(groups=group) if group is not None else people).first()


def _group(request: Request, user: str, name: str) -> Group | None:
    """The group named, else the user's first by name; to a key, its own."""
    groups, group = Group.objects.order_by("name", "pk"), own_group(request)
    groups = groups.filter(name=name) if name else groups.filter(user__username=user)
    return (groups.filter(pk=group) if group is not None else groups).first()
