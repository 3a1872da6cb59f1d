"""Turns the names in a request into a caller.

Whether a name is unknown, inactive or another group's, the refusal is the same, after the same
single statement.
"""

from django.contrib.auth.models import User
from django.db import connection

from acl.callers import Caller
from acl.services.keys import KeyHolder

NOBODY = 0  # no row has this key


class CallerRefused(Exception):
    """The request may not speak for the caller it names, or there is no such caller."""

    def __init__(self) -> None:
        super().__init__("No such caller, or not one that you may act for.")


class CallerMissing(Exception):
    """The key acts for the users of its group and the request names none."""

    def __init__(self) -> None:
        super().__init__("Name the user that the key acts for.")


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
    wanted = {
        "user_id": user_id, "group_id": group_id,
        "user": user, "group": group, "space": space, "usual_group": usual_group,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_CALLER, wanted)
        row = cursor.fetchone()
    if row is None:
        raise CallerRefused
    return Caller(*row)


# What is NULL limits nothing. By hand, since writing the statement costs the ORM more than running
# it costs Postgres.
_CALLER = """
SELECT u.id, g.id, s.id
FROM auth_user u
JOIN auth_user_groups m ON m.user_id = u.id
JOIN auth_group g ON g.id = m.group_id
LEFT JOIN acl_space s ON s.group_id = g.id AND s.slug = %(space)s
WHERE u.is_active
  AND (%(user_id)s::bigint IS NULL OR u.id = %(user_id)s)
  AND (%(group_id)s::bigint IS NULL OR g.id = %(group_id)s)
  AND (%(user)s::text IS NULL OR u.username = %(user)s)
  AND (%(group)s::text IS NULL OR g.name = %(group)s)
  AND (%(space)s::text IS NULL OR s.id IS NOT NULL)
ORDER BY COALESCE(g.name = %(usual_group)s, false) DESC, g.name, g.id
LIMIT 1
"""


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
