"""Every table of Insights as CSV: whole numbers and shares, nothing rounded."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.http import Http404, StreamingHttpResponse
from django.views.decorators.http import require_GET

from acl.pages.frame import PageRequest
from acl.platform.csv_lines import csv_lines
from discovery.insights.current_windows import all_windows
from discovery.insights.lost_searches import lost_turns
from discovery.insights.pages.insights_pages import groups_of, names_of, report_of
from discovery.insights.pages.insights_query import Asked, about_turns
from discovery.insights.pages.measures import MEASURES, Measure, rows_of
from discovery.insights.tool_use import tool_use
from discovery.turns.outcomes import list_alerts

MOST = 10_000
Table = tuple[Sequence[str], Iterable[Sequence[Any]]]


@require_GET
@about_turns
def download(request: PageRequest, asked: Asked, name: str) -> StreamingHttpResponse:
    """The table of that name, for the time and group of the page that it is on."""
    table = TABLES.get(name)
    if table is None or (asked.mine and name in OF_ADMINS):
        raise Http404
    columns, rows = table(asked)
    response = StreamingHttpResponse(
        csv_lines(columns, rows), content_type="text/csv; charset=utf-8"
    )
    file = f"pegboard-{name.replace('_', '-')}-{asked.until:%Y-%m-%d}.csv"
    response["Content-Disposition"] = f'attachment; filename="{file}"'
    response["Cache-Control"] = "no-store"
    return response


def _measure(measure: Measure) -> Callable[[Asked], Table]:
    def table(asked: Asked) -> Table:
        rows = rows_of(measure, report_of(asked), asked)
        columns = ("at", *measure.figures, "of")
        return columns, ((row.at.isoformat(), *row.values, row.of) for row in rows)

    return table


def _groups(asked: Asked) -> Table:
    names = [name for measure in MEASURES for name in measure.figures]
    counted = ("turns", "outcomes", "success", "partial", "failed")
    rows = (
        (
            group,
            *(part.counts[name] for name in counted),
            *(part.figures[name].value for name in names),
        )
        for group, part in groups_of(asked)
    )
    return ("group", *counted, *names), rows


def _windows(asked: Asked) -> Table:
    windows = all_windows(asked.sight.group_id)
    groups = {group.pk: group.name for group in asked.groups}
    spaces = names_of([window.scope.space_id for window in windows])
    figures = (
        "samples", "success", "partial", "failed", "success_rate", "average_score",
        "weighted_rate",
    )  # fmt: skip
    rows = (
        (
            window.scope.kind,
            groups.get(window.scope.group_id or 0),
            spaces.get(window.scope.space_id),
            *(getattr(window, name) for name in figures),
        )
        for window in windows
    )
    return ("scope", "group", "space", *figures), rows


def _alerts(asked: Asked) -> Table:
    sight = asked.sight
    alerts = list_alerts(sight.group_id).filter(at__gte=sight.since, at__lt=sight.until)[:MOST]
    spaces = names_of([alert.space_id for alert in alerts])
    rows = (
        (
            alert.at.isoformat(),
            alert.group.name if alert.group else None,
            spaces.get(alert.space_id),
            alert.severity,
            alert.reason,
            alert.threshold,
            alert.value,
            alert.samples,
        )
        for alert in alerts
    )
    columns = ("at", "group", "space", "severity", "reason", "threshold", "value", "samples")
    return columns, rows


def _called(asked: Asked) -> Table:
    use = tool_use(asked.sight, most=MOST)
    rows = (
        (tool.full_name, tool.times, tool.selected, tool.failed, tool.last_at.isoformat())
        for tool in use.called
    )
    return ("full_name", "turns", "selected", "failed_turns", "last_at"), rows


def _in_vain(asked: Asked) -> Table:
    use = tool_use(asked.sight, most=MOST)
    return ("full_name", "selected"), ((tool.full_name, tool.selected) for tool in use.in_vain)


def _never(asked: Asked) -> Table:
    use = tool_use(asked.sight, most_never=MOST)
    return ("full_name", "selected"), ((tool.full_name, tool.selected) for tool in use.never)


def _troubled(asked: Asked) -> Table:
    use = tool_use(asked.sight, most=MOST)
    rows = (
        (tool.full_name, tool.calls, tool.failed, tool.refused, tool.reason)
        for tool in use.troubled
    )
    return ("full_name", "calls", "failed", "refused", "most_often"), rows


def _lost(asked: Asked) -> Table:
    rows = (
        (
            turn.at.isoformat(),
            turn.group,
            turn.user,
            turn.looks,
            turn.in_vain,
            "; ".join(turn.degraded),
            turn.message,
        )
        for turn in lost_turns(asked.sight, most=MOST).turns
    )
    return ("at", "group", "user", "looks", "found_nothing", "degraded", "message"), rows


TABLES: dict[str, Callable[[Asked], Table]] = {
    **{measure.name: _measure(measure) for measure in MEASURES},
    "groups": _groups,
    "windows": _windows,
    "alerts": _alerts,
    "called": _called,
    "selected_in_vain": _in_vain,
    "never_called": _never,
    "troubled_calls": _troubled,
    "lost_turns": _lost,
}
OF_ADMINS = {"groups", "windows", "alerts"}
