"""Use of tools: called, never called, selected but not called, and failing."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from django.db import connection

from acl.platform.answer_model import Answer, Shown
from discovery.insights._scope import InsightsScope, list_visible_ids, tools_offered

MOST = 20
MOST_NEVER = 100
_TURNS = """
t.created_at >= %(since)s AND t.created_at < %(until)s
AND (%(group)s::bigint IS NULL OR t.group_id = %(group)s)
AND (%(user)s::integer IS NULL OR t.user_id = %(user)s)
"""
_CALLED = f"""
SELECT c.full_name, count(*), count(*) FILTER (WHERE c.selected),
       count(*) FILTER (WHERE o.status = 'failed'), max(o.at)
FROM discovery_turn t
JOIN discovery_outcome o ON o.turn_id = t.id
JOIN discovery_called c ON c.outcome_id = o.id
WHERE {_TURNS} AND (%(known)s::bigint[] IS NULL OR c.capability_id = ANY (%(known)s))
GROUP BY 1 ORDER BY 2 DESC, 1
"""  # noqa: S608 - our own text
_SELECTED = f"""
SELECT item ->> 0, count(*)
FROM discovery_turn t CROSS JOIN LATERAL jsonb_array_elements(t.selected) item
WHERE {_TURNS} GROUP BY 1
"""  # noqa: S608 - our own text
# Rejected and expired calls both count as refused.
_CALLS = """
SELECT t.full_name, count(*), count(*) FILTER (WHERE t.state IN ('failed', 'unknown')),
       count(*) FILTER (WHERE t.state IN ('rejected', 'expired')),
       count(*) FILTER (WHERE t.flow ->> 'verdict' = 'asks'),
       COALESCE(mode() WITHIN GROUP (ORDER BY t.reason) FILTER (WHERE t.reason <> ''), '')
FROM discovery_call t
WHERE t.ended_at >= %(since)s AND t.ended_at < %(until)s
  AND (%(group)s::bigint IS NULL OR t.group_id = %(group)s)
  AND (%(user)s::integer IS NULL OR t.user_id = %(user)s)
  AND (%(known)s::bigint[] IS NULL OR t.capability_id = ANY (%(known)s))
GROUP BY 1
HAVING count(*) FILTER (WHERE t.state IN ('failed', 'unknown', 'rejected', 'expired')
  OR t.flow ->> 'verdict' = 'asks') > 0
ORDER BY count(*) FILTER (WHERE t.state IN ('failed', 'unknown', 'rejected', 'expired')) DESC, 1
LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class CalledTool(Answer):
    """Calls of a tool."""

    full_name: str
    times: Annotated[int, Shown("Number of turns.")]
    selected: Annotated[int, Shown("Number of these turns in which it had been selected.")]
    failed: Annotated[int, Shown("Number of these turns that failed.")]
    last_at: datetime


@dataclass(frozen=True, slots=True)
class IdleTool(Answer):
    """A tool without calls."""

    full_name: str
    display_name: str
    selected: Annotated[int, Shown("Number of turns in which it was selected.")]


@dataclass(frozen=True, slots=True)
class TroubledTool(Answer):
    """A tool with failing or refused calls through Pegboard."""

    full_name: str
    calls: Annotated[int, Shown("Number of calls that ended.")]
    failed: Annotated[int, Shown("Calls that failed or whose outcome is unknown.")]
    refused: Annotated[int, Shown("Calls that were rejected or expired.")]
    flow_asked: Annotated[
        int, Shown("Calls about which the guard on flows would ask, in any mode.")
    ]
    reason: Annotated[str, Shown("The most frequent reason.")]


@dataclass(frozen=True, slots=True)
class ToolUse(Answer):
    """Use of the tools in a period; the counts include what the lists cut off."""

    offered: Annotated[int, Shown("Number of tools that could be selected.")]
    called: tuple[CalledTool, ...]
    called_count: int
    in_vain: Annotated[tuple[IdleTool, ...], Shown("Selected most, never called.")]
    in_vain_count: int
    never: tuple[IdleTool, ...]
    never_count: int
    troubled: tuple[TroubledTool, ...]


def read_tool_use(
    scope: InsightsScope, *, most: int = MOST, most_never: int = MOST_NEVER
) -> ToolUse:
    """Read the use of tools in four statements, and one for the rights if they limit it."""
    parameters = {**scope.parameters, "known": list_visible_ids(scope), "most": most}
    with connection.cursor() as cursor:
        cursor.execute(_CALLED, parameters)
        called = [CalledTool(*row) for row in cursor.fetchall()]
        cursor.execute(_SELECTED, parameters)
        selected = dict(cursor.fetchall())
        cursor.execute(_CALLS, parameters)
        troubled = [TroubledTool(*row) for row in cursor.fetchall()]
    offered = (
        tools_offered(scope)
        .order_by("full_name")
        .values_list("identifier", "full_name", "display_name", named=False)
    )
    rows = list(offered)
    idle = _idle(rows, selected, {tool.full_name for tool in called})
    in_vain = sorted(
        (tool for tool in idle if tool.selected), key=lambda tool: (-tool.selected, tool.full_name)
    )
    return ToolUse(
        offered=len(rows),
        called=tuple(called[:most]),
        called_count=len(called),
        in_vain=tuple(in_vain[:most]),
        in_vain_count=len(in_vain),
        never=tuple(idle[:most_never]),
        never_count=len(idle),
        troubled=tuple(troubled),
    )


def _idle(
    rows: Collection[tuple[str, str, str]], selected: dict[str, int], called: set[str]
) -> list[IdleTool]:
    return [
        IdleTool(full_name, display_name, selected.get(identifier, 0))
        for identifier, full_name, display_name in rows
        if full_name not in called
    ]
