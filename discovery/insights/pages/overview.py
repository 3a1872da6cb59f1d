"""Pages of Insights. Everyone sees their own turns, admins those of all."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext
from django.views.decorators.http import require_GET

from acl.models import Space
from acl.platform.csv_lines import csv_lines
from acl.web.frame import PageRequest, Tab, admins_only, render_page
from discovery.insights._scope import has_turns, list_windows, name_applications
from discovery.insights.figures import FigureGroup, Report, Row, figures_by_group, report_figures
from discovery.insights.pages.insights_query import PERIODS, InsightsQuery, with_query
from discovery.insights.pages.measures import (
    MEASURES,
    PageMeasure,
    format_cells,
    list_rows,
    percent,
    show_measure,
)
from discovery.insights.use import By, list_lost_turns, read_call_use, read_tool_use
from discovery.prices.model import Price, list_prices
from discovery.turns.outcome_windows import Window
from discovery.turns.outcomes import list_alerts

PAGE = 50
FIGURES = Tab("figures", "insights", gettext_noop("Figures"))
OUTCOMES = Tab("outcomes", "insights-outcomes", gettext_noop("Outcomes and alerts"))
TOOLS = Tab("tools", "insights-tools", gettext_noop("Tools"))
USE = Tab("use", "insights-use", gettext_noop("Use and cost"))
QUOTAS = Tab("quotas", "insights-quotas", gettext_noop("Quotas"))
PRICES = Tab("prices", "insights-prices", gettext_noop("Prices"))
TEACH = Tab("teach", "insights-teach", gettext_noop("Teach"))


@require_GET
@with_query
def figures(request: PageRequest, query: InsightsQuery) -> HttpResponse:
    """Show the figures of success and, to admins, those of each group."""
    report = build_report(query)
    price = query.price
    context = {
        "report": report,
        "prices": [(entry.pattern, entry.pattern) for entry in list_prices()],
        "price": price,
        "cost": cost_of_definitions(report.counts, price) if price else None,
        "shown": [show_measure(measure, report, query) for measure in MEASURES],
        "by_group": [
            (name, part.counts, format_cells(part)) for name, part in list_group_figures(query)
        ],
        "ever": report.counts["turns"] or has_turns(query.scope),
        "summary": _summary(query, report.counts["turns"]),
    }
    return render_insights(request, query, "figures.html", context, tab=FIGURES)


@require_GET
@admins_only
@with_query
def outcomes(request: PageRequest, query: InsightsQuery) -> HttpResponse:
    """Show the current windows, and the alerts of the period."""
    scope = query.scope
    alerts = list_alerts(scope.group_id).filter(at__gte=scope.since, at__lt=scope.until)
    page = Paginator(alerts, PAGE).get_page(request.GET.get("page"))
    windows = list_windows(scope.group_id)
    places = name_spaces(
        [w.scope.space_id for w in windows] + [a.space_id for a in page.object_list]
    )
    applications = name_applications(windows)
    context = {
        "windows": [_window_row(window, query, places, applications) for window in windows],
        "alerts": [(alert, places.get(alert.space_id)) for alert in page.object_list],
        "page": page,
        "size": settings.PEGBOARD_OUTCOME_WINDOW,
        "planned_by": settings.PEGBOARD_OUTCOME_SCOPE,
        "alert_below": settings.PEGBOARD_ALERT_BELOW,
        "alert_samples": settings.PEGBOARD_ALERT_SAMPLES,
        "alerts_on": settings.PEGBOARD_ALERTS,
    }
    return render_insights(request, query, "outcomes.html", context, tab=OUTCOMES)


@require_GET
@with_query
def tools(request: PageRequest, query: InsightsQuery) -> HttpResponse:
    """Show which tools are used and unused, and failed searches."""
    context = {
        "use": read_tool_use(query.scope),
        "lost": list_lost_turns(query.scope),
        "ever": has_turns(query.scope),
        "keeps_messages": settings.PEGBOARD_KEEP_MESSAGES,
    }
    return render_insights(request, query, "tools.html", context, tab=TOOLS)


@dataclass(frozen=True, slots=True)
class DefinitionCost:
    """Cost of the definitions that models read, and what was saved, in US dollars."""

    sent: Decimal
    saved: Decimal


def cost_of_definitions(counts: Row, price: Price) -> DefinitionCost:
    """Return what the definitions cost that were sent, and what the others would have cost."""
    everything, saved = int(counts["tokens_all"]), int(counts["tokens_saved"])
    return DefinitionCost(price.cost(tokens_read=everything - saved), price.cost(tokens_read=saved))


def build_report(query: InsightsQuery) -> Report:
    """Build the report of the page and its downloads."""
    scope = query.scope
    return report_figures(
        since=scope.since,
        until=scope.until,
        group_id=scope.group_id,
        user_id=scope.user_id,
        by=query.period.step,
    )


def name_spaces(spaces: list[int | None]) -> dict[int | None, str]:
    """Return the names of spaces by id; deleted ones have none."""
    keys = {space for space in spaces if space is not None}
    return dict(Space.objects.filter(pk__in=keys).values_list("pk", "name"))


def list_group_figures(query: InsightsQuery) -> list[tuple[str, FigureGroup]]:
    """Return the figures of each group that had turns, by name; empty if a group is chosen."""
    if query.mine or query.group:
        return []
    names = {group.pk: group.name for group in query.groups}
    parts = figures_by_group(since=query.scope.since, until=query.until)
    return sorted(
        ((names.get(part.group_id or 0, ""), part) for part in parts), key=lambda pair: pair[0]
    )


@dataclass(frozen=True, slots=True)
class WindowRow:
    """A window, formatted for the page."""

    window: Window
    whose: str
    place: str
    success_rate: str
    weighted_rate: str
    low: bool


def _window_row(
    window: Window,
    query: InsightsQuery,
    places: Mapping[int | None, str],
    applications: Mapping[int, str],
) -> WindowRow:
    scope = window.scope
    groups = {group.pk: group.name for group in query.groups}
    root = _("outside its spaces") if scope.space_id is None else _("a deleted space")
    below, least = settings.PEGBOARD_ALERT_BELOW, settings.PEGBOARD_ALERT_SAMPLES
    return WindowRow(
        window=window,
        whose=applications.get(scope.application_id or 0)
        or groups.get(scope.group_id or 0, _("Everyone")),
        place=places.get(scope.space_id, root) if scope.kind == "space" else "",
        success_rate=percent(window.success_rate or 0.0),
        weighted_rate=percent(window.weighted_rate or 0.0),
        low=window.falls_below(below, least=least),
    )


def _summary(query: InsightsQuery, turns: int) -> str:
    text = ngettext(
        "%(count)s turn since %(time)s UTC", "%(count)s turns since %(time)s UTC", turns
    )
    return text % {
        "count": number_format(turns, force_grouping=True),
        "time": date_format(query.scope.since, "DAY_TIME_FORMAT"),
    }


def render_insights(
    request: PageRequest,
    query: InsightsQuery,
    template: str,
    context: dict[str, object],
    *,
    tab: Tab,
    status: int = 200,
) -> HttpResponse:
    """Render a page of Insights, or the part of it that htmx requested."""
    tabs: tuple[Tab, ...] = (FIGURES, TOOLS, USE)
    if not query.mine:
        tabs = (FIGURES, OUTCOMES, TOOLS, USE, QUOTAS, PRICES, TEACH)
    whole = {**context, "asked": query, "periods": PERIODS, "tabs": tabs, "tab": tab.name}
    page = f"insights/{template}" + ("#found" if request.htmx else "")
    return render_page(request, page, whole, frame=query.frame, status=status)


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
