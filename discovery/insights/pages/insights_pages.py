"""Insights: how choosing tools works out. Everybody sees their own turns, admins those of all."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.views.decorators.http import require_GET

from acl.models import Space
from acl.pages.frame import PageRequest, render_page
from acl.pages.staff_pages import Tab, admins_only
from discovery.insights.current_windows import all_windows
from discovery.insights.figures import Part, Report, figures_by_group, report_figures
from discovery.insights.insights_scope import any_turns
from discovery.insights.lost_searches import lost_turns
from discovery.insights.pages.insights_query import PERIODS, Asked, about_turns
from discovery.insights.pages.measures import MEASURES, cells_of, percent, show_measure
from discovery.insights.tool_use import tool_use
from discovery.turns.outcome_windows import Window
from discovery.turns.outcomes import list_alerts

PAGE = 50
FIGURES = Tab("figures", "insights", "Figures")
OUTCOMES = Tab("outcomes", "insights-outcomes", "Outcomes and alerts")
TOOLS = Tab("tools", "insights-tools", "Tools")


@require_GET
@about_turns
def figures(request: PageRequest, asked: Asked) -> HttpResponse:
    """The figures of success, and for admins each group's."""
    report = report_of(asked)
    context = {
        "report": report,
        "shown": [show_measure(measure, report, asked) for measure in MEASURES],
        "by_group": [(name, part.counts, cells_of(part)) for name, part in groups_of(asked)],
        "ever": report.counts["turns"] or any_turns(asked.sight),
        "summary": _summary(asked, report.counts["turns"]),
    }
    return _render(request, asked, "figures.html", context, tab=FIGURES)


@require_GET
@admins_only
@about_turns
def outcomes(request: PageRequest, asked: Asked) -> HttpResponse:
    """The windows as they are now, and the alerts of the time."""
    sight = asked.sight
    alerts = list_alerts(sight.group_id).filter(at__gte=sight.since, at__lt=sight.until)
    page = Paginator(alerts, PAGE).get_page(request.GET.get("page"))
    windows = all_windows(sight.group_id)
    places = names_of([w.scope.space_id for w in windows] + [a.space_id for a in page.object_list])
    context = {
        "windows": [_told(window, asked, places) for window in windows],
        "alerts": [(alert, places.get(alert.space_id)) for alert in page.object_list],
        "page": page,
        "size": settings.PEGBOARD_OUTCOME_WINDOW,
        "planned_by": settings.PEGBOARD_OUTCOME_SCOPE,
        "alert_below": settings.PEGBOARD_ALERT_BELOW,
        "alert_samples": settings.PEGBOARD_ALERT_SAMPLES,
        "alerts_on": settings.PEGBOARD_ALERTS,
    }
    return _render(request, asked, "outcomes.html", context, tab=OUTCOMES)


@require_GET
@about_turns
def tools(request: PageRequest, asked: Asked) -> HttpResponse:
    """Which tools are used, which not, and what was looked for in vain."""
    context = {
        "use": tool_use(asked.sight),
        "lost": lost_turns(asked.sight),
        "ever": any_turns(asked.sight),
        "keeps_messages": settings.PEGBOARD_KEEP_MESSAGES,
    }
    return _render(request, asked, "tools.html", context, tab=TOOLS)


def report_of(asked: Asked) -> Report:
    """The report that the page and the files tell."""
    sight = asked.sight
    return report_figures(
        since=sight.since,
        until=sight.until,
        group_id=sight.group_id,
        user_id=sight.user_id,
        by=asked.period.step,
    )


def names_of(spaces: list[int | None]) -> dict[int | None, str]:
    """Spaces by their keys; one that is gone has no name."""
    wanted = {space for space in spaces if space is not None}
    return dict(Space.objects.filter(pk__in=wanted).values_list("pk", "name"))


def groups_of(asked: Asked) -> list[tuple[str, Part]]:
    """Each group that had turns, by name; only where no group is chosen."""
    if asked.mine or asked.group:
        return []
    names = {group.pk: group.name for group in asked.groups}
    parts = figures_by_group(since=asked.sight.since, until=asked.until)
    return sorted(
        ((names.get(part.group_id or 0, ""), part) for part in parts), key=lambda pair: pair[0]
    )


@dataclass(frozen=True, slots=True)
class _Told:
    """A window in words."""

    window: Window
    whose: str
    place: str
    success_rate: str
    weighted_rate: str
    low: bool


def _told(window: Window, asked: Asked, places: Mapping[int | None, str]) -> _Told:
    scope = window.scope
    groups = {group.pk: group.name for group in asked.groups}
    root = "outside of its spaces" if scope.space_id is None else "a space that is gone"
    below, least = settings.PEGBOARD_ALERT_BELOW, settings.PEGBOARD_ALERT_SAMPLES
    return _Told(
        window=window,
        whose=groups.get(scope.group_id or 0, "Everybody"),
        place=places.get(scope.space_id, root) if scope.kind == "space" else "",
        success_rate=percent(window.success_rate or 0.0),
        weighted_rate=percent(window.weighted_rate or 0.0),
        low=window.falls_below(below, least=least),
    )


def _summary(asked: Asked, turns: int) -> str:
    times = f"{turns:,} turns" if turns != 1 else "1 turn"
    return f"{times} since {asked.sight.since:%-d %B, %H:%M} UTC"


def _render(
    request: PageRequest, asked: Asked, template: str, context: dict[str, object], *, tab: Tab
) -> HttpResponse:
    tabs = (FIGURES, TOOLS) if asked.mine else (FIGURES, OUTCOMES, TOOLS)
    whole = {**context, "asked": asked, "periods": PERIODS, "tabs": tabs, "tab": tab.name}
    page = f"insights/{template}" + ("#found" if request.htmx else "")
    return render_page(request, page, whole, frame=asked.frame)
