"""Availability in groups: in how many of the groups that a caller knows they may use a tool."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from acl.actor.chain import CredentialKind
from acl.actor.request_context import current_chain
from acl.platform.prepared_statements import rows_of
from acl.rights.caller_lookup import Caller
from acl.rights.statement import rights_parameters, rights_sql
from catalog.querysets import TABLES


def count_groups(caller: Caller, only: Iterable[int]) -> dict[int, int]:
    """Return the number of groups by primary key, by two statements.

    Only groups that the caller may know of count: their own, and of these only those that the key
    of the request works in. A right within one space counts for its group.
    """
    keys = list(only)
    groups = _known_groups(caller)
    if not groups:
        return dict.fromkeys(keys, 1)
    everywhere = replace(caller, group_id=groups[0], space_id=None, other_groups=tuple(groups[1:]))
    parameters = {**rights_parameters(everywhere), "only": keys}
    counts = dict(rows_of(_count_sql(), parameters))
    return {pk: counts.get(pk, 1) for pk in keys}


def _known_groups(caller: Caller) -> list[int]:
    credential = current_chain().credential
    key = credential.id if credential.kind == CredentialKind.KEY else None
    return [pk for (pk,) in rows_of(_KNOWN, {"user": caller.user_id, "key": key})]


@cache
def _count_sql() -> str:
    return f"""
WITH RECURSIVE asked (id) AS MATERIALIZED (SELECT unnest(%(only)s::bigint[])),
{rights_sql(TABLES, united=True, among=True)}
SELECT id, groups FROM usable
"""  # noqa: S608 - the names of our own tables and columns


_KNOWN = """
SELECT mine.group_id FROM auth_user_groups mine
WHERE mine.user_id = %(user)s::bigint AND (%(key)s::bigint IS NULL OR EXISTS (
  SELECT FROM acl_apikey k WHERE k.id = %(key)s::bigint AND (k.all_groups OR EXISTS (
    SELECT FROM acl_apikey_groups g WHERE g.apikey_id = k.id AND g.group_id = mine.group_id))))
ORDER BY mine.group_id
"""
