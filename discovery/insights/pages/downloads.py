"""CSV downloads of all Insights tables, unrounded."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.http import Http404, StreamingHttpResponse
from django.views.decorators.http import require_GET

from acl.platform.csv_lines import csv_lines
from acl.web.frame import PageRequest
from discovery.insights._scope import list_windows, name_applications
from discovery.insights.pages.insights_query import InsightsQuery, with_query
from discovery.insights.pages.measures import MEASURES, PageMeasure, list_rows
from discovery.insights.pages.overview import build_report, list_group_figures, name_spaces
from discovery.insights.use import By, list_lost_turns, read_call_use, read_tool_use
from discovery.turns.outcomes import list_alerts

MOST = 10_000
Table = tuple[Sequence[str], Iterable[Sequence[Any]]]


@require_GET
@with_query
def download(request: PageRequest, query: InsightsQuery, name: str) -> StreamingHttpResponse:
    """Download a table for the period and group of its page."""
    table = TABLES.get(name)
    if table is None or (query.mine and name in ADMIN_TABLES):
        raise Http404
    columns, rows = table(query)
    response = StreamingHttpResponse(
        csv_lines(columns, rows), content_type="text/csv; charset=utf-8"
    )
    file = f"pegboard-{name.replace('_', '-')}-{query.until:%Y-%m-%d}.csv"
    response["Content-Disposition"] = f'attachment; filename="{file}"'
    response["Cache-Control"] = "no-store"
    return response


def _measure(measure: PageMeasure) -> Callable[[InsightsQuery], Table]:
    def table(query: InsightsQuery) -> Table:
        rows = list_rows(measure, build_report(query), query)
        columns = ("at", *measure.figures, "of")
        return columns, ((row.at.isoformat(), *row.values, row.of) for row in rows)

    return table


def _groups(query: InsightsQuery) -> Table:
    names = [name for measure in MEASURES for name in measure.figures]
    counted = ("turns", "outcomes", "success", "partial", "failed")
    rows = (
        (
            group,
            *(part.counts[name] for name in counted),
            *(part.figures[name].value for name in names),
        )
        for group, part in list_group_figures(query)
    )
    return ("group", *counted, *names), rows


def _windows(query: InsightsQuery) -> Table:
    windows = list_windows(query.scope.group_id)
    groups = {group.pk: group.name for group in query.groups}
    spaces = name_spaces([window.scope.space_id for window in windows])
    applications = name_applications(windows)
    figures = (
        "samples", "success", "partial", "failed", "success_rate", "average_score",
        "weighted_rate",
    )  # fmt: skip
    rows = (
        (
            window.scope.kind,
            groups.get(window.scope.group_id or 0),
            spaces.get(window.scope.space_id),
            applications.get(window.scope.application_id or 0),
            *(getattr(window, name) for name in figures),
        )
        for window in windows
    )
    return ("scope", "group", "space", "application", *figures), rows


def _alerts(query: InsightsQuery) -> Table:
    scope = query.scope
    alerts = list_alerts(scope.group_id).filter(at__gte=scope.since, at__lt=scope.until)[:MOST]
    spaces = name_spaces([alert.space_id for alert in alerts])
    rows = (
        (
            alert.at.isoformat(),
            alert.group.name if alert.group else None,
            spaces.get(alert.space_id),
            alert.whose if alert.application_id is not None else None,
            alert.severity,
            alert.reason,
            alert.threshold,
            alert.value,
            alert.samples,
        )
        for alert in alerts
    )
    columns = (
        "at",
        "group",
        "space",
        "application",
        "severity",
        "reason",
        "threshold",
        "value",
        "samples",
    )
    return columns, rows


def _called(query: InsightsQuery) -> Table:
    use = read_tool_use(query.scope, most=MOST)
    rows = (
        (tool.full_name, tool.times, tool.selected, tool.failed, tool.last_at.isoformat())
        for tool in use.called
    )
    return ("full_name", "turns", "selected", "failed_turns", "last_at"), rows


def _in_vain(query: InsightsQuery) -> Table:
    use = read_tool_use(query.scope, most=MOST)
    return ("full_name", "selected"), ((tool.full_name, tool.selected) for tool in use.in_vain)


def _never(query: InsightsQuery) -> Table:
    use = read_tool_use(query.scope, most_never=MOST)
    return ("full_name", "selected"), ((tool.full_name, tool.selected) for tool in use.never)


def _troubled(query: InsightsQuery) -> Table:
    use = read_tool_use(query.scope, most=MOST)
    rows = (
        (tool.full_name, tool.calls, tool.failed, tool.refused, tool.flow_asked, tool.reason)
        for tool in use.troubled
    )
    return ("full_name", "calls", "failed", "refused", "flow_asked", "most_often"), rows


def _lost(query: InsightsQuery) -> Table:
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
        for turn in list_lost_turns(query.scope, most=MOST).turns
    )
    return ("at", "group", "user", "looks", "found_nothing", "degraded", "message"), rows


def _use(by: By) -> Callable[[InsightsQuery], Table]:
    def table(query: InsightsQuery) -> Table:
        names = (
            "name", "calls", "failed", "p95_ms", "argument_tokens", "result_tokens", "turns",
            "definition_tokens", "all_definition_tokens",
        )  # fmt: skip
        uses = read_call_use(query.scope, by, most=MOST)
        price = query.price
        rows = (
            [*(getattr(use, name) for name in names), use.cost(price), use.cost_with_all(price)]
            for use in uses
        )
        return (by, *names[1:], "cost", "cost_with_all"), rows

    return table


TABLES: dict[str, Callable[[InsightsQuery], Table]] = {
    **{measure.name: _measure(measure) for measure in MEASURES},
    "groups": _groups,
    "windows": _windows,
    "alerts": _alerts,
    "called": _called,
    "selected_in_vain": _in_vain,
    "never_called": _never,
    "troubled_calls": _troubled,
    "lost_turns": _lost,
    "use_tool": _use("tool"),
    "use_person": _use("person"),
    "use_group": _use("group"),
    "use_application": _use("application"),
}
ADMIN_TABLES = {"groups", "windows", "alerts", "use_person", "use_group", "use_application"}
