"""Readiness of integrations: that of their tools, for a caller or for admins, by one statement."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from django.utils.translation import gettext_lazy

from acl.platform.database_connections import rows_of
from acl.rights.caller_lookup import Caller
from acl.rights.statement import rights_parameters, rights_sql
from catalog.querysets import TABLES
from catalog.readiness.readiness import (
    COLUMNS,
    LABELS,
    Readiness,
    ToolReadiness,
    facts_parameters,
    facts_sql,
    readiness_from,
    tell_approvers,
)

# The best first: an integration is as ready as its readiest tool.
_ORDER = list(Readiness)
# Admins read about everyone: what needs each person is not theirs to mend.
ADMIN_LABELS = {**LABELS, Readiness.NEEDS_YOU: gettext_lazy("Personal")}


@dataclass(frozen=True, slots=True)
class IntegrationReadiness:
    """Readiness of an integration's readiest tools, and the number of tools in each state."""

    readiness: ToolReadiness
    tools: tuple[tuple[Readiness, int], ...]

    @property
    def state(self) -> Readiness:
        """Return the state of the readiest tools."""
        return self.readiness.state

    @property
    def label(self) -> str:
        """Return the state for a badge that admins see."""
        return str(ADMIN_LABELS[self.state])

    @property
    def sentence(self) -> str:
        """Return the numbers of tools for admins: "Ready: 3, Asks first: 1"."""
        return ", ".join(f"{ADMIN_LABELS[state]}: {count}" for state, count in self.tools)


def readiness_of_callers(
    caller: Caller, integrations: Iterable[int]
) -> dict[int, IntegrationReadiness]:
    """Return the readiness of integrations by primary key, from the tools that the caller may use.

    Integrations without any are left out.
    """
    parameters = {**rights_parameters(caller), "integrations": list(integrations)}
    rows = rows_of(_caller_sql(united=caller.is_united), {**parameters, **facts_parameters()})
    readinesses = tell_approvers([readiness_from(values) for _, _, *values in rows], caller.user_id)
    return _summaries(
        (row[0], row[1], readiness) for row, readiness in zip(rows, readinesses, strict=True)
    )


def readiness_for_admins(integrations: Iterable[int]) -> dict[int, IntegrationReadiness]:
    """Return the readiness of integrations by primary key, from all approved tools.

    It is that of people without secrets and accounts of their own, whom no rule asks first.
    """
    parameters = {**facts_parameters(), "integrations": list(integrations)}
    rows = rows_of(_ADMIN_SQL, parameters)
    return _summaries(
        (pk, count, replace(readiness_from(values), for_staff=True)) for pk, count, *values in rows
    )


def _summaries(
    rows: Iterable[tuple[int, int, ToolReadiness]],
) -> dict[int, IntegrationReadiness]:
    counts: dict[int, Counter[Readiness]] = defaultdict(Counter)
    best: dict[int, ToolReadiness] = {}
    for pk, count, readiness in rows:
        counts[pk][readiness.state] += count
        best[pk] = min(best.get(pk, readiness), readiness, key=_place)
    return {
        pk: IntegrationReadiness(
            best[pk], tuple((state, counts[pk][state]) for state in _ORDER if counts[pk][state])
        )
        for pk in best
    }


def _place(readiness: ToolReadiness) -> int:
    return _ORDER.index(readiness.state)


_SUMMED = f"SELECT integration_id, count(*), {', '.join(COLUMNS)} FROM tool"  # noqa: S608
_GROUPED = f"GROUP BY integration_id, {', '.join(COLUMNS)}"


@cache
def _caller_sql(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united)},
tool AS (
  SELECT c.integration_id, {facts_sql(mode="usable.mode")}
  FROM usable JOIN catalog_capability c ON c.id = usable.id
  JOIN catalog_integration i ON i.id = c.integration_id
  WHERE i.id = ANY (%(integrations)s::bigint[]))
{_SUMMED} {_GROUPED}
"""  # noqa: S608 - the names of our own tables and columns


_MODE = "CASE c.ai_access WHEN 'propose' THEN 1 ELSE 2 END"
_ADMIN_SQL = f"""
WITH tool AS (
  SELECT c.integration_id, {facts_sql(mode=_MODE, user="NULL::bigint")}
  FROM catalog_capability c JOIN catalog_integration i ON i.id = c.integration_id
  WHERE i.id = ANY (%(integrations)s::bigint[]) AND i.enabled AND i.state = 'approved'
    AND c.state = 'approved' AND c.ai_access NOT IN ('blocked', 'app'))
{_SUMMED} {_GROUPED}
"""  # noqa: S608 - the names of our own tables and columns
