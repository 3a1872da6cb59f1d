"""Figures of success from stored turns, with their targets.

Two statements, however many turns there are. Without turns a figure has no value and misses no
target. They cover a group's turns, everyone's, or with `user_id` one person's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from operator import ge, gt, le, lt
from typing import Annotated, Any

from django.db import connection, transaction

from acl.platform.answer_model import Answer, Shown
from discovery.models import Turn

# Turns that were offered everything say nothing about the selection. Each can be added up.
_SUMS = """
count(*) AS turns,
COALESCE(sum(t.tokens_all), 0) AS tokens_all,
COALESCE(sum(GREATEST(t.tokens_all - t.tokens_selected, 0)), 0) AS tokens_saved,
count(*) FILTER (WHERE t.mode = 'all') AS turns_with_all,
count(t.degraded_at) AS turns_degraded,
count(*) FILTER (WHERE t.discovery_calls > 0) AS turns_with_discovery,
COALESCE(sum(t.discovery_calls), 0) AS discovery_calls,
COALESCE(sum(t.discovery_empty), 0) AS discovery_empty,
count(o.id) AS outcomes,
count(*) FILTER (WHERE o.source = 'reported') AS reported,
count(*) FILTER (WHERE o.status = 'success') AS success,
count(*) FILTER (WHERE o.status = 'partial') AS partial,
count(*) FILTER (WHERE o.status = 'failed') AS failed,
COALESCE(sum(o.score), 0) AS scores,
count(*) FILTER (WHERE t.mode = 'discovered' AND o.called_known > 0) AS turns_that_called,
count(*) FILTER (WHERE t.mode = 'discovered' AND o.called_selected > 0) AS turns_that_hit,
COALESCE(sum(o.called_known) FILTER (WHERE t.mode = 'discovered'), 0) AS called,
COALESCE(sum(o.called_selected) FILTER (WHERE t.mode = 'discovered'), 0) AS called_selected
"""
_NAMES = [line.rstrip(",").rpartition(" ")[2] for line in _SUMS.strip().splitlines()]
_TURNS = "discovery_turn t LEFT JOIN discovery_outcome o ON o.turn_id = t.id"
_TOTALS = ", ".join(f"sum({name})::bigint AS {name}" for name in _NAMES if name != "scores")
_KEPT_SUMS = ", ".join(f"(k.sums ->> '{name}')::float" for name in _NAMES)
# Days whose turns are deleted add their sums, but no latencies, and nothing of one person or
# application.
_STATEMENT = """
SELECT part, {totals}, max(median_ms) AS median_ms, max(p95_ms) AS p95_ms,
       sum(scores) / NULLIF(sum(outcomes), 0) AS average_score
FROM (
  SELECT {by} AS part, {sums},
         percentile_cont(0.5) WITHIN GROUP (ORDER BY t.milliseconds) AS median_ms,
         percentile_cont(0.95) WITHIN GROUP (ORDER BY t.milliseconds) AS p95_ms
  FROM {turns}
  WHERE t.created_at >= %(begin)s AND t.created_at < %(until)s
    AND (%(group)s::bigint IS NULL OR t.group_id = %(group)s)
    AND (%(user)s::integer IS NULL OR t.user_id = %(user)s)
    AND (%(application)s::bigint IS NULL OR t.application_id = %(application)s)
  GROUP BY 1
  UNION ALL
  SELECT {by_day}, {kept_sums}, NULL, NULL FROM discovery_dayfigures k
  WHERE k.begins >= %(begin)s AND k.begins < %(until)s
    AND (%(group)s::bigint IS NULL OR k.group_id = %(group)s)
    AND %(user)s::integer IS NULL AND %(application)s::bigint IS NULL
) either GROUP BY part ORDER BY part
"""


def _by(part: str) -> str:
    """Return the statement that has a row for each value of an expression over turns `t`."""
    by_day = part.replace("t.created_at", "k.begins").replace("t.group_id", "k.group_id")
    return _STATEMENT.format(
        by=part, by_day=by_day, turns=_TURNS, sums=_SUMS, totals=_TOTALS, kept_sums=_KEPT_SUMS
    )


_BY_PERIOD = _by("t.created_at >= %(since)s")
_BY_GROUP = _by("t.group_id")
_BY_STEP = {
    step: _by(f"date_trunc('{step}', t.created_at AT TIME ZONE 'UTC')") for step in ("day", "hour")
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
    application_id: int | None = None,
    by: str = "day",
) -> Report:
    """Report the figures of one group, or of all. Latency is compared with the period before."""
    parameters = {
        "since": since,
        "until": until,
        "group": group_id,
        "user": user_id,
        "application": application_id,
    }
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
    rows = _read_rows(_BY_GROUP, begin=since, until=until, group=None, user=None, application=None)
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


_RATES = ("median_ms", "p95_ms", "average_score")
_EMPTY: Row = dict.fromkeys(_NAMES, 0) | dict.fromkeys(_RATES)


@transaction.atomic
def forget_turns(*, before: datetime, most: int) -> int:
    """Delete the oldest turns from before a moment, some at a time, and keep their sums by day and
    group; return how many. What another holds is left for the next time.
    """
    old = Turn.objects.filter(created_at__lt=before).order_by("created_at")
    keys = [turn.pk for turn in old.only("pk").select_for_update(skip_locked=True)[:most]]
    if keys:
        with connection.cursor() as cursor:
            cursor.execute(_KEEP, {"turns": keys})
        Turn.objects.filter(pk__in=keys).delete()
    return len(keys)


_KEEP = f"""
INSERT INTO discovery_dayfigures AS k (begins, group_id, sums)
SELECT begins, group_id, to_jsonb(day) - 'begins' - 'group_id' FROM (
  SELECT date_trunc('day', t.created_at, 'UTC') AS begins, t.group_id, {_SUMS}
  FROM {_TURNS} WHERE t.id = ANY (%(turns)s) GROUP BY 1, 2) day
ON CONFLICT (begins, group_id) DO UPDATE SET sums = (
  SELECT jsonb_object_agg(name, number::numeric + COALESCE((k.sums ->> name)::numeric, 0))
  FROM jsonb_each_text(EXCLUDED.sums) more (name, number))
"""  # noqa: S608 - constants only
