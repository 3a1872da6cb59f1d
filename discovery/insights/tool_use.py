"""Which tools are called, which never, which are selected in vain, and whose calls go wrong."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from discovery.insights.insights_scope import Sight, known_keys, tools_offered

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
# What a person said no to, or nobody said yes to in time, was refused.
_CALLS = """
SELECT t.full_name, count(*), count(*) FILTER (WHERE t.state IN ('failed', 'unknown')),
       count(*) FILTER (WHERE t.state IN ('rejected', 'expired')),
       COALESCE(mode() WITHIN GROUP (ORDER BY t.reason) FILTER (WHERE t.reason <> ''), '')
FROM discovery_call t
WHERE t.ended_at >= %(since)s AND t.ended_at < %(until)s
  AND (%(group)s::bigint IS NULL OR t.group_id = %(group)s)
  AND (%(user)s::integer IS NULL OR t.user_id = %(user)s)
  AND (%(known)s::bigint[] IS NULL OR t.capability_id = ANY (%(known)s))
GROUP BY 1
HAVING count(*) FILTER (WHERE t.state IN ('failed', 'unknown', 'rejected', 'expired')) > 0
ORDER BY count(*) FILTER (WHERE t.state IN ('failed', 'unknown', 'rejected', 'expired')) DESC, 1
LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class CalledTool:
    """In so many turns it was called; in so many of them it had been selected, so many failed."""

    full_name: str
    times: int
    selected: int
    failed: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class IdleTool:
    """One that was never called, and how often it was selected all the same."""

    full_name: str
    display_name: str
    selected: int


@dataclass(frozen=True, slots=True)
class TroubledTool:
    """Calls through Pegboard that ended, those that failed, and those that a person refused."""

    full_name: str
    calls: int
    failed: int
    refused: int
    reason: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """All of it; the numbers count what the lists cut off."""

    offered: int
    called: tuple[CalledTool, ...]
    called_count: int
    in_vain: tuple[IdleTool, ...]
    in_vain_count: int
    never: tuple[IdleTool, ...]
    never_count: int
    troubled: tuple[TroubledTool, ...]


def tool_use(sight: Sight, *, most: int = MOST, most_never: int = MOST_NEVER) -> ToolUse:
    """The use of tools in a time: four statements, and one for the rights where they bound it."""
    parameters = {**sight.parameters, "known": known_keys(sight), "most": most}
    with connection.cursor() as cursor:
        cursor.execute(_CALLED, parameters)
        called = [CalledTool(*row) for row in cursor.fetchall()]
        cursor.execute(_SELECTED, parameters)
        selected = dict(cursor.fetchall())
        cursor.execute(_CALLS, parameters)
        troubled = [TroubledTool(*row) for row in cursor.fetchall()]
    offered = (
        tools_offered(sight)
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
