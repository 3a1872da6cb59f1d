"""Figures of success from stored turns, with their targets.

Two statements, however many turns there are. Without turns a figure has no value and misses no
target. They cover a group's turns, everyone's, or with `user_id` one person's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from operator import ge, gt, le, lt
from typing import Annotated, Any

from django.db import connection

from acl.platform.answer_model import Answer, Shown

# Turns that were offered everything say nothing about the selection.
_MEASURES = """
count(*) AS turns,
COALESCE(sum(t.tokens_all), 0) AS tokens_all,
COALESCE(sum(GREATEST(t.tokens_all - t.tokens_selected, 0)), 0) AS tokens_saved,
count(*) FILTER (WHERE t.mode = 'all') AS turns_with_all,
count(t.degraded_at) AS turns_degraded,
count(*) FILTER (WHERE t.discovery_calls > 0) AS turns_with_discovery,
COALESCE(sum(t.discovery_calls), 0) AS discovery_calls,
COALESCE(sum(t.discovery_empty), 0) AS discovery_empty,
percentile_cont(0.5) WITHIN GROUP (ORDER BY t.milliseconds) AS median_ms,
percentile_cont(0.95) WITHIN GROUP (ORDER BY t.milliseconds) AS p95_ms,
count(o.id) AS outcomes,
count(*) FILTER (WHERE o.source = 'reported') AS reported,
count(*) FILTER (WHERE o.status = 'success') AS success,
count(*) FILTER (WHERE o.status = 'partial') AS partial,
count(*) FILTER (WHERE o.status = 'failed') AS failed,
avg(o.score) AS average_score,
count(*) FILTER (WHERE t.mode = 'discovered' AND o.called_known > 0) AS turns_that_called,
count(*) FILTER (WHERE t.mode = 'discovered' AND o.called_selected > 0) AS turns_that_hit,
COALESCE(sum(o.called_known) FILTER (WHERE t.mode = 'discovered'), 0) AS called,
COALESCE(sum(o.called_selected) FILTER (WHERE t.mode = 'discovered'), 0) AS called_selected
"""
_STATEMENT = """
SELECT {by} AS part, {measures}
FROM discovery_turn t LEFT JOIN discovery_outcome o ON o.turn_id = t.id
WHERE t.created_at >= %(begin)s AND t.created_at < %(until)s
  AND (%(group)s::bigint IS NULL OR t.group_id = %(group)s)
  AND (%(user)s::integer IS NULL OR t.user_id = %(user)s)
GROUP BY 1 ORDER BY 1
"""
_BY_PERIOD = _STATEMENT.format(by="t.created_at >= %(since)s", measures=_MEASURES)
_BY_GROUP = _STATEMENT.format(by="t.group_id", measures=_MEASURES)
_BY_STEP = {
    step: _STATEMENT.format(
        by=f"date_trunc('{step}', t.created_at AT TIME ZONE 'UTC')", measures=_MEASURES
    )
    for step in ("day", "hour")
}
Row = Mapping[str, Any]


COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "at least": ge,
    "more than": gt,
    "less than": lt,
    "at most": le,
}


@dataclass(frozen=True, slots=True)
class Figure(Answer):
    """A figure with its target."""

    value: float | None
    wanted: Annotated[str, Shown(choices=tuple(COMPARISONS))]
    target: float | None
    of: Annotated[int, Shown("Sample size, in turns, tokens or calls.")]

    @property
    def met(self) -> Annotated[bool | None, Shown()]:
        """Return True if the target is met; None if there is nothing to compare."""
        if self.value is None or self.target is None:
            return None
        return COMPARISONS[self.wanted](self.value, self.target)


@dataclass(frozen=True, slots=True)
class FigureGroup:
    """Counts and figures of an hour or day (UTC), of a whole period, or of one group."""

    counts: Row
    figures: Mapping[str, Figure]
    at: datetime | None = None
    group_id: int | None = None

    @property
    def day(self) -> date | None:
        """Return the day on which it begins."""
        return self.at.date() if self.at else None


@dataclass(frozen=True, slots=True)
class Report:
    """Counts and figures from `since` to `until`, of the period before, and by step."""

    since: datetime
    until: datetime
    counts: Row
    figures: Mapping[str, Figure]
    before: FigureGroup
    days: tuple[FigureGroup, ...] = ()
    hours: tuple[FigureGroup, ...] = ()


def report_figures(
    *,
    since: datetime,
    until: datetime,
    group_id: int | None,
    user_id: int | None = None,
    by: str = "day",
) -> Report:
    """Report the figures of one group, or of all. Latency is compared with the period before."""
    parameters = {"since": since, "until": until, "group": group_id, "user": user_id}
    periods = {
        row["part"]: row
        for row in _read_rows(_BY_PERIOD, begin=since - (until - since), **parameters)
    }
    counts, before = periods.get(True, _EMPTY), periods.get(False, _EMPTY)
    parts = tuple(
        FigureGroup(row, _figures(row), row["part"].replace(tzinfo=UTC))
        for row in _read_rows(_BY_STEP[by], begin=since, **parameters)
    )
    return Report(
        since=since,
        until=until,
        counts=counts,
        figures=_figures(counts, baseline=before),
        before=FigureGroup(before, _figures(before)),
        **{f"{by}s": parts},
    )


def figures_by_group(*, since: datetime, until: datetime) -> list[FigureGroup]:
    """Return the figures of each group that had turns, in one statement."""
    rows = _read_rows(_BY_GROUP, begin=since, until=until, group=None, user=None)
    return [FigureGroup(row, _figures(row), group_id=row["part"]) for row in rows]


def _figures(row: Row, *, baseline: Row | None = None) -> dict[str, Figure]:
    turns, calls = row["turns"], row["discovery_calls"]
    hits, calling = row["turns_that_hit"], row["turns_that_called"]
    baseline = baseline or _EMPTY
    return {
        "tokens_saved": _share(row["tokens_saved"], row["tokens_all"], "at least", 0.6),
        "called_among_selected": _share(hits, calling, "more than", 0.85),
        "discovery_used": _share(row["turns_with_discovery"], turns, "less than", 0.05),
        "discovery_empty": _share(row["discovery_empty"], calls, "at most", 0.0),
        "added_latency_ms": Figure(row["median_ms"], "at most", baseline["median_ms"], turns),
        "added_latency_p95_ms": Figure(row["p95_ms"], "at most", baseline["p95_ms"], turns),
    }


def _share(part: int, whole: int, direction: str, target: float) -> Figure:
    return Figure(float(part / whole) if whole else None, direction, target, int(whole))


def _read_rows(statement: str, **parameters: Any) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


_RATES = {"median_ms", "p95_ms", "average_score"}
_NAMES = [line.rstrip(",").rpartition(" ")[2] for line in _MEASURES.strip().splitlines()]
_EMPTY: Row = {name: None if name in _RATES else 0 for name in _NAMES}
