"""The caller of a request, for every view that answers for somebody."""

from django.contrib.auth.models import User
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request

from acl.callers import Caller
from acl.services.callers import caller_for
from acl.services.keys import KeyHolder

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
    request: Request, *, user: str | None = None, group: str | None = None, space: str | None = None
) -> Caller:
    """The caller that the request names, or means by naming nobody."""
    principal = principal_of(request)
    usual = None if isinstance(principal, KeyHolder) else request.session.get(SESSION_GROUP)
    return caller_for(
        principal,
        user=user,
        group=group,
        space=space,
        usual_group=usual,
    )
