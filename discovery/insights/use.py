"""Use of tools and integrations: calls, errors, times and tokens, and what is missing."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal

from django.db import connection
from django.db.models import Q

from acl.platform.answer_model import Answer, Shown
from discovery.insights._scope import InsightsScope, list_visible_ids, tools_offered
from discovery.models import Turn
from discovery.prices.model import Price

# Use and cost of calls by tool, person, group and application: calls, errors, times and tokens.
#
# Tokens of arguments and results are estimated at four characters each. Tokens of definitions are
# those that turns sent to models; a turn sends many tools, so tools have none.

By = Literal["tool", "person", "group", "application"]
MOST = 50
# What no application asked for is under "". One that was deleted is known by its number.
_NAMES: dict[By, str] = {
    "tool": "t.full_name",
    "person": "u.username",
    "group": "g.name",
    "application": "CASE WHEN t.application_id IS NULL THEN ''"
    " ELSE COALESCE(a.name, '#' || t.application_id) END",
}
_WHERE = """
t.created_at >= %(since)s AND t.created_at < %(until)s
AND (%(group)s::bigint IS NULL OR t.group_id = %(group)s)
AND (%(user)s::integer IS NULL OR t.user_id = %(user)s)
AND (%(application)s::bigint IS NULL OR t.application_id = %(application)s)
"""
_JOINED = """
JOIN auth_user u ON u.id = t.user_id JOIN auth_group g ON g.id = t.group_id
LEFT JOIN acl_application a ON a.id = t.application_id
"""
_CALLS = """
SELECT {name}, count(*), count(*) FILTER (WHERE t.state IN ('failed', 'unknown')),
  percentile_cont(0.95) WITHIN GROUP (ORDER BY
    extract(epoch FROM t.ended_at - t.started_at) * 1000)
    FILTER (WHERE t.started_at IS NOT NULL AND t.ended_at IS NOT NULL),
  sum(t.tokens_arguments), sum(t.tokens_result)
FROM discovery_call t {joined}
WHERE {where} AND (%(known)s::bigint[] IS NULL OR t.capability_id = ANY (%(known)s))
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %(most)s
"""
_DEFINITIONS = """
SELECT {name}, count(*),
  sum(CASE t.mode WHEN 'all' THEN t.tokens_all ELSE t.tokens_selected END), sum(t.tokens_all)
FROM discovery_turn t {joined} WHERE {where} GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class CallUse(Answer):
    """Calls of a tool, person, group or application: all, failed, the 95th percentile of
    milliseconds, tokens.

    `turns` and the tokens of definitions, those that were sent and those of all tools, are those of
    the turns of a person, group or application.
    """

    name: Annotated[str, Shown("A tool's full name, or the name of a user, group or application.")]
    calls: int = 0
    failed: Annotated[int, Shown("Calls that failed or whose outcome is unknown.")] = 0
    p95_ms: Annotated[float | None, Shown("95th percentile of milliseconds.")] = None
    argument_tokens: Annotated[int, Shown("Estimated at four characters each.")] = 0
    result_tokens: Annotated[int, Shown("Estimated at four characters each.")] = 0
    turns: Annotated[int, Shown("Turns; 0 for a tool.")] = 0
    definition_tokens: Annotated[
        int, Shown("Tokens of definitions sent in those turns; 0 for a tool.")
    ] = 0
    all_definition_tokens: Annotated[
        int, Shown("Tokens of the definitions of all tools in those turns; 0 for a tool.")
    ] = 0

    def cost(self, price: Price | None) -> Decimal | None:
        """Return what it all cost at a price, in US dollars; None without a price.

        A model writes arguments, and reads results and definitions.
        """
        tokens_read = self.result_tokens + self.definition_tokens
        return (
            None
            if price is None
            else price.cost(tokens_read=tokens_read, tokens_written=self.argument_tokens)
        )

    def cost_with_all(self, price: Price | None) -> Decimal | None:
        """Return what it would have cost with the definitions of all tools; None without turns."""
        if price is None or not self.turns:
            return None
        tokens_read = self.result_tokens + self.all_definition_tokens
        return price.cost(tokens_read=tokens_read, tokens_written=self.argument_tokens)


def read_call_use(scope: InsightsScope, by: By, *, most: int = MOST) -> list[CallUse]:
    """Read the use of calls, most used first. A restricted viewer sees only tools that they may
    use."""
    parameters = {**scope.parameters, "known": list_visible_ids(scope), "most": most}
    parts = {"name": _NAMES[by], "joined": _JOINED, "where": _WHERE}
    with connection.cursor() as cursor:
        cursor.execute(_CALLS.format(**parts), parameters)
        rows = {row[0]: row for row in cursor.fetchall()}
        turns: dict[str, Sequence[int]] = {}
        if by != "tool":
            cursor.execute(_DEFINITIONS.format(**parts), parameters)
            turns = {name: numbers for name, *numbers in cursor.fetchall()}
    names = [*rows, *(name for name in turns if name not in rows)][:most]
    return [
        CallUse(*rows.get(name, (name,)))
        if name not in turns
        else CallUse(*(*rows.get(name, (name, 0, 0, None, 0, 0)), *turns[name]))
        for name in names
    ]


# Use of tools: called, never called, selected but not called, and failing.

MOST_TOOLS = 20
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
_CALLS_OF_TOOLS = """
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
    scope: InsightsScope, *, most: int = MOST_TOOLS, most_never: int = MOST_NEVER
) -> ToolUse:
    """Read the use of tools in four statements, and one for the rights if they limit it."""
    parameters = {**scope.parameters, "known": list_visible_ids(scope), "most": most}
    with connection.cursor() as cursor:
        cursor.execute(_CALLED, parameters)
        called = [CalledTool(*row) for row in cursor.fetchall()]
        cursor.execute(_SELECTED, parameters)
        selected = dict(cursor.fetchall())
        cursor.execute(_CALLS_OF_TOOLS, parameters)
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


# Turns whose selection or search found nothing.
#
# Queries are not stored. The turn's message is, if PEGBOARD_KEEP_MESSAGES is set.

MOST_SEARCHES = 25


@dataclass(frozen=True, slots=True)
class LostTurn:
    """A turn whose selection failed, or in which the model searched without success."""

    at: datetime
    group: str
    user: str
    message: str
    looks: int
    in_vain: int
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LostTurns:
    """The newest of these turns, and their number."""

    turns: tuple[LostTurn, ...]
    count: int


def list_lost_turns(scope: InsightsScope, *, most: int = MOST_SEARCHES) -> LostTurns:
    """Return the newest of these turns in the scope's period, in two statements."""
    turns = Turn.objects.filter(
        Q(discovery_empty__gt=0) | Q(degraded_at__isnull=False),
        created_at__gte=scope.since,
        created_at__lt=scope.until,
        **{
            name: key
            for name, key in (("group", scope.group_id), ("user", scope.user_id))
            if key is not None
        },
    )
    newest = turns.select_related("group", "user").order_by("-created_at", "pk")
    rows = newest.only(
        "created_at", "group__name", "user__username", "message", "discovery_calls",
        "discovery_empty", "degraded",
    )[:most]  # fmt: skip
    return LostTurns(
        tuple(
            LostTurn(
                at=turn.created_at,
                group=turn.group.name,
                user=turn.user.username,
                message=turn.message,
                looks=turn.discovery_calls,
                in_vain=turn.discovery_empty,
                degraded=tuple(map(str, turn.degraded)),
            )
            for turn in rows
        ),
        turns.count(),
    )


# Use of integrations: their calls of a week, errors, last call, and who called them lately.

MOST_PEOPLE = 50


@dataclass(frozen=True, slots=True)
class IntegrationUse:
    """Calls and errors of the last 7 days, people of the last 30, and the last call that is
    kept."""

    calls: int = 0
    failed: int = 0
    people: int = 0
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PersonUse:
    """Calls of a person in a group in the last 30 days."""

    user: str
    group: str
    calls: int
    last_at: datetime


def use_by_integration(keys: Sequence[int]) -> dict[int, IntegrationUse]:
    """Return the use of integrations by id, in one statement. Unused ones are missing."""
    with connection.cursor() as cursor:
        cursor.execute(_USE, {"keys": list(keys)})
        return {key: IntegrationUse(*numbers) for key, *numbers in cursor.fetchall()}


_USE = """
SELECT c.integration_id,
  count(*) FILTER (WHERE t.created_at >= statement_timestamp() - interval '7 days'),
  count(*) FILTER (WHERE t.created_at >= statement_timestamp() - interval '7 days'
    AND t.state IN ('failed', 'unknown')),
  count(DISTINCT t.user_id) FILTER (
    WHERE t.created_at >= statement_timestamp() - interval '30 days'),
  max(t.created_at)
FROM catalog_capability c JOIN discovery_call t ON t.capability_id = c.id
WHERE c.integration_id = ANY (%(keys)s) GROUP BY 1
"""


def list_people_using(key: int) -> list[PersonUse]:
    """Return who called the integration's tools in the last 30 days, most calls first."""
    with connection.cursor() as cursor:
        cursor.execute(_PEOPLE, {"key": key, "most": MOST_PEOPLE})
        return [PersonUse(*row) for row in cursor.fetchall()]


_PEOPLE = """
SELECT u.username, g.name, count(*), max(t.created_at)
FROM catalog_capability c JOIN discovery_call t ON t.capability_id = c.id
JOIN auth_user u ON u.id = t.user_id JOIN auth_group g ON g.id = t.group_id
WHERE c.integration_id = %(key)s AND t.created_at >= statement_timestamp() - interval '30 days'
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT %(most)s
"""
