"""Holders of a capability: people by group and space, with the ground of their access."""

from typing import NamedTuple

from django.db import connection

from acl.rights.holders import holders_sql
from acl.rights.precedence import GrantKind
from catalog.querysets import TABLES

_STATEMENT = f"""
WITH RECURSIVE {holders_sql(TABLES)}
SELECT count(*) OVER (), h.username, g.name, COALESCE(s.slug, ''), COALESCE(s.name, ''), h.mode,
       h.kind, r.id, r.effect, rs.slug, rs.name, ru.username, rg.name,
       r.capability_id IS NOT NULL
FROM holder h JOIN auth_group g ON g.id = h.group_id
LEFT JOIN acl_space s ON s.id = h.space_id
LEFT JOIN catalog_rule r ON r.id = h.rule_id
LEFT JOIN acl_space rs ON rs.id = r.space_id
LEFT JOIN auth_user ru ON ru.id = r.user_id
LEFT JOIN auth_group rg ON rg.id = r.group_id
WHERE %(group)s::bigint IS NULL OR h.group_id = %(group)s::bigint
ORDER BY g.name, g.id, s.parent_id NULLS FIRST, s.slug, h.username, h.user_id
LIMIT %(limit)s OFFSET %(offset)s
"""  # noqa: S608 - constants only


class HolderRow(NamedTuple):
    """A holder of the capability in one group and space."""

    total: int  # of all rows
    user: str
    group: str
    space: str
    space_name: str
    mode: int
    grant: GrantKind | None  # the first of GRANTS that they have
    rule: int | None
    effect: int | None
    rule_space: str | None
    rule_space_name: str | None
    rule_user: str | None
    rule_group: str | None
    on_capability: bool


def load_holders(capability: int, *, group: int | None, limit: int, offset: int) -> list[HolderRow]:
    """Return a page of holders, by group, space and name."""
    parameters = {
        "capability": capability,
        "group": group,
        "unavailable": False,
        "kind": "",
        "limit": limit,
        "offset": offset,
    }
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENT, parameters)
        return [HolderRow._make(row) for row in cursor.fetchall()]
