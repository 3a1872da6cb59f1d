"""Facts of readiness, as columns of the statements that read rights."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.conf import settings

from acl.rights.approvers import who_approves_calls_of
from catalog.readiness.obstacles import Obstacle, obstacle_sql
from catalog.readiness.readiness import Readiness, ToolReadiness

# From this confidence a tool of an untrusted server that reads may run without approval.
SURE = 0.8

# Approval policy: the calls that a person must approve, by rights and by PEGBOARD_APPROVE.

# Effects that each value of PEGBOARD_APPROVE asks for, besides what the rights ask for. An unknown
# effect counts as a write.
_ASKED = {
    "propose": [],
    "delete": ["delete"],
    "write": ["unknown", "write", "delete"],
    "all": ["read", "unknown", "write", "delete"],
}


def asks_first_sql(*, mode: str, capability: str, integration: str) -> str:
    """Return true where a person approves each call: by the rights' mode, or by the effect.

    Needs the parameters of `policy_parameters`.
    """
    return _ASKS_FIRST.format(
        mode=mode,
        c=capability,
        i=integration,
        sure=SURE,
        trusted=_TRUSTED.format(i=integration),
        corrected=_EVIDENCE.format(c=capability, parts=_BY_ADMIN),
        named_delete=_EVIDENCE.format(c=capability, parts=_NAMED_DELETE),
    )


def policy_parameters() -> dict[str, Any]:
    """Return the deployment's policy as parameters of `asks_first_sql`."""
    trusted = settings.PEGBOARD_TRUSTED_SERVERS
    return {
        "asked_effects": _ASKED[settings.PEGBOARD_APPROVE],
        "trusted": list(trusted),
        "all_trusted": "*" in trusted,
    }


# A tool of a server reads only if its words say so with enough confidence: annotations alone never
# reach that. A server that the operator trusts may say so, and an admin's word stands.
_ASKS_FIRST = """({mode} = 1 OR CASE
    WHEN {i}.kind NOT IN ('mcp', 'openapi') OR ({c}.effect_confidence >= {sure} AND NOT {trusted})
      THEN {c}.side_effect
    WHEN {corrected} THEN {c}.side_effect
    WHEN {trusted} THEN CASE {c}.annotations ->> 'readOnlyHint' WHEN 'true' THEN 'read'
      ELSE {c}.side_effect END
    WHEN {named_delete} THEN 'delete'
    WHEN {c}.side_effect = 'read' THEN 'write'
    ELSE {c}.side_effect END = ANY (%(asked_effects)s::text[]))"""
_TRUSTED = "(%(all_trusted)s::bool OR {i}.slug = ANY (%(trusted)s::text[]))"
_EVIDENCE = """({c}.effect_evidence @> '{{"side_effect": [{{{parts}}}]}}'::jsonb)"""
_BY_ADMIN = '"source": "admin"'
_NAMED_DELETE = '"source": "name", "says": "delete"'


# Names of the columns, in order.
COLUMNS = ("asks_first", "obstacle", "runs_here", "failing_since", "failures", "for_staff")
# The mode of a row `c` in statements that show few of the usable rows: a set, not a join.
MODE_OF_ROW = "(CASE WHEN c.id IN (SELECT id FROM usable WHERE mode = 1) THEN 1 ELSE 2 END)"
_own_tools: list[str] = []


def facts_sql(
    *, mode: str, capability: str = "c", integration: str = "i", user: str = "%(user)s::bigint"
) -> str:
    """Return the columns, over a row of capabilities joined with its integration.

    `mode` is that of the rights; `user` is the person whose own secrets and accounts count.
    """
    asks_first = asks_first_sql(mode=mode, capability=capability, integration=integration)
    obstacle = obstacle_sql(integration=integration, user=user)
    runs_here = runs_here_sql(capability, integration)
    return (
        f"{asks_first} AS asks_first, CASE WHEN {capability}.available THEN {obstacle}"
        f" ELSE {int(Obstacle.NOT_AVAILABLE)} END AS obstacle, {runs_here} AS runs_here,"
        f" {integration}.failing_since, {integration}.failures, {for_staff_sql(user)} AS for_staff"
    )


def runs_here_sql(capability: str, integration: str) -> str:
    """Return true where Pegboard carries out the call; otherwise it only describes the tool."""
    return _RUNS_HERE.format(c=capability, i=integration)


def for_staff_sql(user: str) -> str:
    """Return true where the person may open the admin pages: once for the statement, not by row."""
    return f"COALESCE((SELECT is_staff FROM auth_user WHERE id = {user}), false)"  # noqa: S608


def facts_parameters() -> dict[str, Any]:
    """Return the parameters of `facts_sql` beside those of the rights."""
    return {**policy_parameters(), "own_tools": _own_tools}


def readiness_from(values: Sequence[Any]) -> ToolReadiness:
    """Return the readiness from the columns of one row."""
    return make_readiness(*values)


def make_readiness(
    asks_first: bool,
    obstacle: int,
    runs_here: bool,
    failing_since: datetime | None,
    failures: int,
    for_staff: bool,
) -> ToolReadiness:
    """Return the readiness from the values of the columns."""
    return ToolReadiness(
        bool(asks_first),
        Obstacle(obstacle),
        bool(runs_here),
        failing_since,
        failures,
        for_staff=bool(for_staff),
    )


def tell_approvers(
    readinesses: Sequence[ToolReadiness], user_id: int, *, alone: bool = False
) -> list[ToolReadiness]:
    """Return them with who may approve the user's calls.

    It is the same for all tools: one statement if any of them asks first, otherwise none. `alone`
    as in `who_approves_calls_of`.
    """
    if not any(readiness.state is Readiness.ASKS_FIRST for readiness in readinesses):
        return list(readinesses)
    who = who_approves_calls_of(user_id, alone=alone)
    return [replace(readiness, approver=who) for readiness in readinesses]


def register_own_tools(names: Sequence[str]) -> None:
    """Register the built-in tools that Pegboard answers or runs itself."""
    _own_tools[:] = names


# A server or Pegboard runs a tool, Pegboard returns a skill or answers itself; the application
# carries out all else.
_RUNS_HERE = """({c}.kind = 'skill' OR ({i}.kind IN ('mcp', 'openapi') AND {i}.transport <> '')
    OR ({i}.kind = 'builtin' AND {c}.full_name = ANY (%(own_tools)s::text[])))"""
