"""The last seven days in six figures, everyone's for admins and else the person's own."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import Count, Q
from django.db.models.functions import TruncDate
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from acl.templatetags.pegboard import grouped
from discovery.insights.figures import report_figures
from discovery.insights.pages.charts import draw_sparkline
from discovery.insights.pages.measures import NO_VALUE, milliseconds, percent
from discovery.models import Call

DAYS = 7
_WENT_WRONG = Q(state__in=(Call.State.FAILED, Call.State.UNKNOWN))


@dataclass(frozen=True, slots=True)
class WeekFigure:
    """A figure of the week, its value of the week before, and the days as a line."""

    label: str
    value: str
    before: str
    line: SafeString
    is_empty: bool  # nothing was counted or measured, in this week and the one before


def read_week(person: User) -> list[WeekFigure]:
    """Return the six figures, in three statements."""
    until = timezone.now()
    since = datetime(until.year, until.month, until.day, tzinfo=UTC) - timedelta(days=DAYS - 1)
    user_id = None if person.is_staff else person.pk
    report = report_figures(since=since, until=until, group_id=None, user_id=user_id)
    days = [since.date() + timedelta(days=number) for number in range(DAYS)]
    parts = {part.day: part for part in report.days}
    calls, failed, earlier = _calls(since, until, user_id)

    def counted(label: str, by_day: Mapping[date | None, int], before: int) -> WeekFigure:
        values = [by_day.get(day, 0) for day in days]
        total = sum(values)
        line = draw_sparkline(values)
        return WeekFigure(label, grouped(total), grouped(before), line, not total and not before)

    def measured(label: str, name: str, *, is_share: bool = True) -> WeekFigure:
        write = percent if is_share else milliseconds
        measurements = [parts[day].figures[name].value if day in parts else None for day in days]
        now, before = report.figures[name].value, report.before.figures[name].value
        was, current = (_(NO_VALUE) if value is None else write(value) for value in (before, now))
        line = draw_sparkline(measurements)
        return WeekFigure(label, current, was, line, now is None and before is None)

    turns = {day: int(part.counts["turns"]) for day, part in parts.items()}
    return [
        counted(_("Turns"), turns, int(report.before.counts["turns"])),
        counted(_("Calls"), calls, earlier[0]),
        counted(_("Failed calls"), failed, earlier[1]),
        measured(_("Tokens saved"), "tokens_saved"),
        measured(_("Calls to selected tools"), "called_among_selected"),
        measured(_("Selection time (p95)"), "added_latency_p95_ms", is_share=False),
    ]


def _calls(
    since: datetime, until: datetime, user_id: int | None
) -> tuple[dict[date | None, int], dict[date | None, int], tuple[int, int]]:
    """Return calls and failed calls by day (UTC), and both numbers of the period before."""
    begin = since - (until - since)
    calls_of_both = Call.objects.filter(created_at__gte=begin, created_at__lt=until)
    if user_id is not None:
        calls_of_both = calls_of_both.filter(user=user_id)
    by_day = calls_of_both.annotate(
        day=TruncDate("created_at", tzinfo=UTC), recent=Q(created_at__gte=since)
    )
    rows = by_day.values("day", "recent").annotate(
        calls=Count("pk"), failed=Count("pk", filter=_WENT_WRONG)
    )
    calls: dict[date | None, int] = {}
    failed: dict[date | None, int] = {}
    earlier = [0, 0]
    for row in rows.order_by():
        if row["recent"]:
            calls[row["day"]], failed[row["day"]] = row["calls"], row["failed"]
        else:
            earlier[0] += row["calls"]
            earlier[1] += row["failed"]
    return calls, failed, (earlier[0], earlier[1])
