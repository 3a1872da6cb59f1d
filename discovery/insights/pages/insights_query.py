"""What a page of Insights is asked for: a time, a group, and by whom."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import Group
from django.http import HttpResponseBase
from django.utils import timezone

from acl.pages.frame import Frame, PageRequest, frame_of, render_page
from discovery.insights.insights_scope import Sight


@dataclass(frozen=True, slots=True)
class Period:
    """So many days or hours, the current one as the last."""

    name: str
    label: str
    step: str
    steps: int

    def times(self, now: datetime) -> list[datetime]:
        """When each of them begins, the oldest first, in UTC."""
        begins = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        begins = begins if self.step == "hour" else begins.replace(hour=0)
        length = timedelta(**{f"{self.step}s": 1})
        return [begins - length * number for number in reversed(range(self.steps))]


PERIODS = (
    Period("24h", "24 hours", "hour", 24),
    Period("7d", "7 days", "day", 7),
    Period("30d", "30 days", "day", 30),
)
USUALLY = PERIODS[1]


@dataclass(frozen=True, slots=True)
class Asked:
    """A page's question. Admins choose a group or all; a person has their own turns, in the group
    that they are in."""

    frame: Frame
    period: Period
    until: datetime
    group: Group | None
    groups: Sequence[Group]
    mine: bool

    @property
    def times(self) -> list[datetime]:
        """The steps of the charts."""
        return self.period.times(self.until)

    @property
    def sight(self) -> Sight:
        """The same for the services."""
        return Sight(
            since=self.times[0],
            until=self.until,
            group_id=self.group.pk if self.group else None,
            user_id=self.frame.user_id if self.mine else None,
            stranger=self.mine,
        )


def asked_by(request: PageRequest) -> Asked | None:
    """What the address says, where a value that is wrong counts as none; None for a person who is
    in no group."""
    frame = frame_of(request)
    mine = not request.user.is_staff
    if mine and frame.group is None:
        return None
    groups = () if mine else tuple(Group.objects.order_by("name", "pk"))
    named = request.GET.get("group", "")
    group = frame.group if mine else next((one for one in groups if one.name == named), None)
    wanted = request.GET.get("period", "")
    period = next((one for one in PERIODS if one.name == wanted), USUALLY)
    return Asked(frame, period, timezone.now(), group, groups, mine)


def about_turns(
    view: Callable[..., HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """Gives the view its question; who is in no group is told how to get into one."""

    @login_required
    @wraps(view)
    def for_people(request: PageRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        asked = asked_by(request)
        if asked is None:
            frame = frame_of(request)
            return render_page(request, "no_group.html", {"title": "Insights"}, frame=frame)
        return view(request, asked, *args, **kwargs)

    return for_people
