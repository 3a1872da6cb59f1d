"""Readiness of a caller's tools, read in one statement with the rights."""

from collections.abc import Iterable, Sequence
from functools import cache

from acl.platform.prepared_statements import rows_of
from acl.rights.caller import Caller
from acl.rights.rights_statement import rights_parameters, rights_sql
from catalog.models import Capability
from catalog.querysets import TABLES
from catalog.readiness.facts import facts_parameters, facts_sql, readiness_from, tell_approvers
from catalog.readiness.readiness import ToolReadiness


@cache
def _readiness_sql(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united)}
SELECT c.id, {facts_sql(mode="usable.mode")}
FROM usable JOIN catalog_capability c ON c.id = usable.id
JOIN catalog_integration i ON i.id = c.integration_id
WHERE %(only)s::bigint[] IS NULL OR c.id = ANY (%(only)s::bigint[])
"""  # noqa: S608 - the names of our own tables and columns


def load_readiness(
    caller: Caller, only: Iterable[int] | None = None, *, unavailable: bool = False
) -> dict[int, ToolReadiness]:
    """Return the readiness of the caller's tools by primary key; `only` limits them."""
    parameters = {
        **rights_parameters(caller, unavailable=unavailable),
        **facts_parameters(),
        "only": None if only is None else list(only),
    }
    rows = rows_of(_readiness_sql(united=caller.is_united), parameters)
    found = tell_approvers([readiness_from(values) for _, *values in rows], caller.user_id)
    return dict(zip((pk for pk, *_ in rows), found, strict=True))


def attach_readiness(
    caller: Caller, rows: Sequence[Capability], *, unavailable: bool = False
) -> list[Capability]:
    """Give each row its `readiness`; leave out those that were lost since they were read."""
    if not rows:
        return []
    found = load_readiness(caller, [row.pk for row in rows], unavailable=unavailable)
    for row in rows:
        row.readiness = found.get(row.pk)  # type: ignore[attr-defined]
    return [row for row in rows if row.pk in found]
