"""Use and cost of calls by tool, person, group and application: calls, errors, times and tokens.

Tokens of arguments and results are estimated at four characters each. Tokens of definitions are
those that turns sent to models; a turn sends many tools, so tools have none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal

from django.db import connection

from acl.platform.answer_model import Answer, Shown
from discovery.insights._scope import InsightsScope, list_visible_ids
from discovery.prices.model import Price

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
