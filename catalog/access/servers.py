"""Access to a server as a whole: to its resources and prompts, which no rule names one by one.

They follow what is said about the integration, as a tool of it would of which nobody has said
anything. Rules and grants for single tools count for those tools only.
"""

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
SELECT verdict, rank IS NOT NULL FROM live WHERE id = %(integration)s::bigint
"""  # noqa: S608 - the names of our own tables and columns


def may_use_server(caller: Caller, integration: int) -> bool:
    """Return True if the caller may use the whole integration, without asking first.

    Several groups answer each for itself; a rule of the space that was asked for limits them all.
    """
    verdicts = [_read_verdict(caller, group, integration) for group in caller.group_ids]
    if max(verdict for verdict, _ in verdicts) < _RUNS:
        return False
    first_verdict, has_rule = verdicts[0]
    return caller.space_id is None or not has_rule or first_verdict == _RUNS


def _read_verdict(caller: Caller, group: int, integration: int) -> tuple[int, bool]:
    """Return the verdict in one group, and True if a rule decides it."""
    space = caller.space_id if group == caller.group_id else None
    alone = Caller(caller.user_id, group, space)
    parameters = {**rights_parameters(alone), "integration": integration}
    rows = rows_of(_verdict_sql(), parameters)
    return (rows[0][0], rows[0][1]) if rows else (0, False)
