"""Turns the names in a request into a caller.

Whether a name is unknown, inactive or another group's, the refusal is the same, after the same
single statement.
"""

from functools import cache

from django.contrib.auth.models import User

from acl.acting import acts_for_others
from acl.callers import Caller
from acl.prepared import rows_of
from acl.services.keys import KeyHolder

NOBODY = 0  # no row has this key


class CallerRefused(Exception):
    """The request may not speak for the caller it names, or there is no such caller."""

    def __init__(self) -> None:
        super().__init__("No such caller, or not one that you may act for.")


class ActingRefused(CallerRefused):
    """Somebody who signed in may not act as another person."""

    def __init__(self) -> None:
        Exception.__init__(
            self,
            "Acting for another person takes the permission “Can act for other people”. Without "
            "it you may look at what they may use, and act in your own name.",
        )


class CallerMissing(Exception):
    """The key acts for the users of its group and the request names none."""

    def __init__(self) -> None:
        super().__init__("Name the user that the key acts for.")


def check_acting(principal: KeyHolder | User, *, user: str | None) -> None:
    """Raise ActingRefused unless `principal` may act as the user named.

    Keys are asked by `caller_for`: one that acts for users was given that power when it was made.
    """
    if isinstance(principal, KeyHolder) or user in (None, principal.get_username()):
        return
    if not acts_for_others(principal):
        raise ActingRefused


def caller_for(
    principal: KeyHolder | User,
    *,
    user: str | None = None,
    group: str | None = None,
    space: str | None = None,
    usual_group: str | None = None,
) -> Caller:
    """The caller that `principal` may act for, in one statement.

    A key acts in its own group only. A person acts in any of their groups: the one named, else
    `usual_group` where they are still a member, else the first by name. Staff may name any user.
    """
    user_id, group_id = _limits(principal, user)
    limits = {
        "user_id": user_id, "group_id": group_id, "user": user, "group": group, "space": space,
    }  # fmt: skip
    given = {name: value for name, value in limits.items() if value is not None}
    rows = rows_of(_caller(tuple(given)), {**given, "usual_group": usual_group})
    if not rows:
        raise CallerRefused
    return Caller(*rows[0])


@cache
def _caller(limits: tuple[str, ...]) -> str:
    """By hand, since writing the statement costs the ORM more than running it costs Postgres; one
    for each set of limits, since a plan that is made for all of them could use no index."""
    in_space = "space" in limits
    return f"""
SELECT u.id, g.id, {"s.id" if in_space else "NULL::bigint"}
FROM auth_user u
JOIN auth_user_groups m ON m.user_id = u.id
JOIN auth_group g ON g.id = m.group_id
{"JOIN acl_space s ON s.group_id = g.id" if in_space else ""}
WHERE {" AND ".join(["u.is_active", *(_LIMITS[name] for name in limits)])}
ORDER BY COALESCE(g.name = %(usual_group)s::text, false) DESC, g.name, g.id
LIMIT 1
"""  # noqa: S608 - our own words


_LIMITS = {
    "user_id": "u.id = %(user_id)s::bigint",
    "group_id": "g.id = %(group_id)s::bigint",
    "user": "u.username = %(user)s::text",
    "group": "g.name = %(group)s::text",
    "space": "s.slug = %(space)s::text",
}


def _limits(principal: KeyHolder | User, named: str | None) -> tuple[int | None, int | None]:
    """The user and the group that the principal is limited to; None is no limit."""
    if isinstance(principal, KeyHolder):
        return _limits_of_key(principal, named)
    if named is not None and principal.is_staff:
        return None, None
    return principal.pk, None


def _limits_of_key(holder: KeyHolder, named: str | None) -> tuple[int | None, int]:
    if named is None and holder.owner_id is None and holder.acts_for_users:
        raise CallerMissing
    if named is None or not holder.acts_for_users:
        return holder.owner_id or NOBODY, holder.group_id
    return None, holder.group_id
