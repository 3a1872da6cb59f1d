"""The query of an Insights page: period, group and viewer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import Group
from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from acl.web.frame import Frame, PageRequest, frame_of, render_page
from discovery.insights._scope import InsightsScope
from discovery.models.chat import LONGEST_PATTERN
from discovery.prices.model import Price, list_prices, price_of


@dataclass(frozen=True, slots=True)
class Period:
    """A number of days or hours, the current one being the last."""

    name: str
    label: str
    step: str
    steps: int

    def times(self, now: datetime) -> list[datetime]:
        """Return the beginning of each step in UTC, oldest first."""
        begins = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        begins = begins if self.step == "hour" else begins.replace(hour=0)
        length = timedelta(**{f"{self.step}s": 1})
        return [begins - length * number for number in reversed(range(self.steps))]


PERIODS = (
    Period("24h", gettext_noop("24 hours"), "hour", 24),
    Period("7d", gettext_noop("7 days"), "day", 7),
    Period("30d", gettext_noop("30 days"), "day", 30),
)
DEFAULT_PERIOD = PERIODS[1]


@dataclass(frozen=True, slots=True)
class InsightsQuery:
    """A page's query. Admins choose a group or all; others see their own turns in their group."""

    frame: Frame
    period: Period
    until: datetime
    group: Group | None
    groups: Sequence[Group]
    mine: bool
    model: str = ""

    @property
    def times(self) -> list[datetime]:
        """Return the beginnings of the charts' steps."""
        return self.period.times(self.until)

    @property
    def price(self) -> Price | None:
        """Return the price of the chosen model, or None."""
        return price_of(self.model, list_prices()) if self.model else None

    @property
    def scope(self) -> InsightsScope:
        """Return the query as a scope for the services."""
        return InsightsScope(
            since=self.times[0],
            until=self.until,
            group_id=self.group.pk if self.group else None,
            user_id=self.frame.user_id if self.mine else None,
            restricted=self.mine,
        )


def parse_query(request: PageRequest) -> InsightsQuery | None:
    """Parse the query string, ignoring invalid values; None for a person without a group."""
    frame = frame_of(request)
    mine = not request.user.is_staff
    if mine and frame.group is None:
        return None
    groups = () if mine else tuple(Group.objects.order_by("name", "pk"))
    group_name = request.GET.get("group", "")
    group = (
        frame.group
        if mine
        else next((choice for choice in groups if choice.name == group_name), None)
    )
    period_name = request.GET.get("period", "")
    period = next((choice for choice in PERIODS if choice.name == period_name), DEFAULT_PERIOD)
    model = request.GET.get("model", "")[:LONGEST_PATTERN]
    return InsightsQuery(frame, period, timezone.now(), group, groups, mine, model)


def with_query(
    view: Callable[..., HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """Decorator: pass the view its query; people without a group get a page that says so."""

    @login_required
    @wraps(view)
    def for_people(request: PageRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        query = parse_query(request)
        if query is None:
            frame = frame_of(request)
            return render_page(request, "no_group.html", {"title": _("Insights")}, frame=frame)
        return view(request, query, *args, **kwargs)

    return for_people
