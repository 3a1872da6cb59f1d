"""Access to a server as a whole: to its resources and prompts, which no rule names one by one.

They follow what is said about the integration, as a tool of it would of which nobody has said
anything. Rules and grants for single tools count for those tools only.
"""

from collections.abc import Collection
from dataclasses import replace
from functools import cache

from acl.platform.prepared_statements import rows_of
from acl.rights.caller_lookup import Caller
from acl.rights.statement import rights_parameters, rights_sql
from catalog.querysets import TABLES

_RUNS = 2


@cache
def _verdict_sql() -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES)}
SELECT id, verdict, rank IS NOT NULL FROM live WHERE id = ANY (%(integrations)s::bigint[])
"""  # noqa: S608 - the names of our own tables and columns


def may_use_server(caller: Caller, integration: int) -> bool:
    """Return True if the caller may use the whole integration, without asking first."""
    return integration in usable_servers(caller, [integration])


def usable_servers(caller: Caller, integrations: Collection[int]) -> set[int]:
    """Return those that the caller may use as a whole, without asking first.

    Several groups answer each for itself; a rule of the space that was asked for limits them all.
    """
    if not integrations:
        return set()
    verdicts = [_read_verdicts(caller, group, integrations) for group in caller.group_ids]
    running = {pk for rows in verdicts for pk, (verdict, _) in rows.items() if verdict == _RUNS}
    if caller.space_id is None:
        return running
    stopped = {pk for pk, (verdict, by_rule) in verdicts[0].items() if by_rule and verdict < _RUNS}
    return running - stopped


def _read_verdicts(
    caller: Caller, group: int, integrations: Collection[int]
) -> dict[int, tuple[int, bool]]:
    """Return the verdict on each in one group, with True where a rule decides it."""
    space = caller.space_id if group == caller.group_id else None
    alone = replace(caller, group_id=group, space_id=space, other_groups=())
    parameters = {**rights_parameters(alone), "integrations": list(integrations)}
    rows = rows_of(_verdict_sql(), parameters)
    return {pk: (verdict, by_rule) for pk, verdict, by_rule in rows}
