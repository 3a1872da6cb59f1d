"""Turns the names in a request into a caller.

Whether a name is unknown, inactive or another group's, the refusal is the same, after the same
single statement.
"""

from dataclasses import dataclass, replace
from functools import cache

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils.translation import gettext as _

from acl.models import Application
from acl.platform.database_connections import rows_of
from acl.rights.delegation import acts_for_others
from acl.rights.delegation.authority import KeyHolder

# Callers of a question.


@dataclass(frozen=True, slots=True)
class Caller:
    """A user in a group, and perhaps in one of its spaces; without a space it is the group's
    root space.

    With `other_groups` the user asks as a member of all these groups together: each answers for
    itself, and the answers are united (docs/access.md). `group_id` is the group of the space, or
    the first; what is recorded of the question is recorded there. What asks by the key of a chat
    application gets no more than that application may reach.
    """

    user_id: int
    group_id: int
    space_id: int | None = None
    other_groups: tuple[int, ...] = ()
    application_id: int | None = None

    @property
    def group_ids(self) -> tuple[int, ...]:
        """Ids of all groups in which the question is asked."""
        return (self.group_id, *self.other_groups)

    @property
    def application_rows(self) -> Q:
        """Limit rows to those of the caller's application, where one asks: another application of
        the same person may reach what this one may not."""
        return rows_of_application(self.application_id)

    @property
    def is_united(self) -> bool:
        """True if several groups answer together."""
        return bool(self.other_groups)


def rows_of_application(application_id: int | None) -> Q:
    """Limit rows to those of an application; None is no limit."""
    return Q() if application_id is None else Q(application=application_id)


NOBODY = 0  # no row has this key


class CallerRefused(Exception):
    """The request may not speak for the caller it names, or there is no such caller."""

    def __init__(self) -> None:
        super().__init__(_("There is no such caller, or you may not act for them."))


class ActingRefused(CallerRefused):
    """Someone who signed in may not act as another person."""

    def __init__(self) -> None:
        Exception.__init__(
            self,
            _(
                "To act for another person, you need the permission “Can act for other people”. "
                "Without it, you can see what they may use, and act in your own name."
            ),
        )


class CallerMissing(Exception):
    """The key acts for the users of its groups and the request names none."""

    def __init__(self) -> None:
        super().__init__(_("Name the user that the key acts for."))


def check_acting(principal: KeyHolder | User, *, user: str | None) -> None:
    """Raise ActingRefused unless `principal` may act as the user named.

    Keys are asked by `caller_for`: one that acts for users was given that power when it was made.
    """
    if isinstance(principal, KeyHolder) or user in (None, principal.get_username()):
        return
    if not acts_for_others(principal):
        raise ActingRefused


class CallerAmbiguous(Exception):
    """Several of the user's groups have a space of this name."""

    def __init__(self) -> None:
        super().__init__(
            _("Several groups of this user have a space of this name: name the group.")
        )


def caller_for(
    principal: KeyHolder | User,
    *,
    user: str | None = None,
    group: str | None = None,
    space: str | None = None,
    application: str | None = None,
    usual_group: str | None = None,
) -> Caller:
    """Return the caller that `principal` may act for, found by one statement.

    A person acts in one of their groups: the one named, else `usual_group` where they are still a
    member, else the first by name. Staff may name any user. A key acts in the group named, else in
    all groups of the user that it covers, together, and for the application that it belongs to.
    """
    limits = {"user": user, "group": group, "space": space, **_limits(principal, user)}
    conditions = {name: value for name, value in limits.items() if value is not None}
    rows = rows_of(_caller(tuple(conditions)), {**conditions, "usual_group": usual_group})
    if not rows:
        raise CallerRefused
    is_key = isinstance(principal, KeyHolder)
    caller = _caller_in(rows, united=is_key, in_space=space is not None)
    application_id = application_of(principal, application)
    return replace(caller, application_id=application_id) if application_id else caller


def application_of(principal: KeyHolder | User, name: str | None) -> int | None:
    """Return the application that `principal` asks for: a key's own, or the one that is named.

    A key of an application names no other. Anyone else names one that a group of theirs owns, as
    this gives them less than they have; admins name any.
    """
    if isinstance(principal, KeyHolder) and principal.application is not None:
        if name not in (None, principal.application.name):
            raise CallerRefused
        return principal.application.id
    if name is None:
        return None
    applications = Application.objects.filter(name=name)
    if isinstance(principal, KeyHolder):
        applications = applications.filter(principal.administered())
    elif not principal.is_staff:
        applications = applications.filter(group__user=principal)
    key = applications.values_list("pk", flat=True).first()
    if key is None:
        raise CallerRefused
    return key


def _caller_in(rows: list[tuple[int, int, int | None]], *, united: bool, in_space: bool) -> Caller:
    """Make a caller of the user's groups, the usual one first, each with the space if it is its."""
    having = [row for row in rows if row[2] is not None] if in_space else rows
    if not having:
        raise CallerRefused
    if in_space and united and len(having) > 1:
        raise CallerAmbiguous
    user_id, group_id, space_id = having[0]
    others = tuple(row[1] for row in rows if row[1] != group_id) if united else ()
    return Caller(user_id, group_id, space_id, others)


@cache
def _caller(limits: tuple[str, ...]) -> str:
    """Write the statement by hand, since that costs the ORM more than running it costs Postgres;
    one for each set of limits, since a plan that is made for all of them could use no index."""
    in_space = "space" in limits
    conditions = [_LIMITS[name] for name in limits if name in _LIMITS]
    join = "LEFT JOIN acl_space s ON s.group_id = g.id AND s.slug = %(space)s::text"
    return f"""
SELECT u.id, g.id, {"s.id" if in_space else "NULL::bigint"}
FROM auth_user u
JOIN auth_user_groups m ON m.user_id = u.id
JOIN auth_group g ON g.id = m.group_id
{join if in_space else ""}
WHERE {" AND ".join(["u.is_active", *conditions])}
ORDER BY COALESCE(g.name = %(usual_group)s::text, false) DESC, g.name, g.id
"""  # noqa: S608 - our own words


_LIMITS = {
    "user_id": "u.id = %(user_id)s::bigint",
    "group_ids": "g.id = ANY (%(group_ids)s::bigint[])",
    "user": "u.username = %(user)s::text",
    "group": "g.name = %(group)s::text",
}


def _limits(principal: KeyHolder | User, username: str | None) -> dict[str, object]:
    """Return the user and the groups that the principal is limited to; None is no limit."""
    if isinstance(principal, KeyHolder):
        covered = None if principal.group_ids is None else sorted(principal.group_ids)
        return {"user_id": _user_of_key(principal, username), "group_ids": covered}
    return {"user_id": None if username is not None and principal.is_staff else principal.pk}


def _user_of_key(holder: KeyHolder, username: str | None) -> int | None:
    if username is None and holder.owner_id is None and holder.acts_for_users:
        raise CallerMissing
    if username is None or not holder.acts_for_users:
        return holder.owner_id or NOBODY
    return None
