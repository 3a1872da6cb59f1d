"""Health of a server: its latest checks, a bar chart of them, problems, and checks on request."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.utils.formats import date_format, number_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.platform.task_names import CHECK_INTEGRATION, send_now
from catalog.models import HealthCheck, Integration, OutgoingHost
from catalog.servers.client.server_problems import WORDS, Reason, label_problem

WIDTH, HEIGHT = 480, 56
_GAP = 2
_CHECKS, _TABLE, _PROBLEMS, _HOSTS = 60, 20, 5, 5
_MAY_LACK_A_HOST = frozenset({Reason.CRASHED, Reason.CANNOT_START, Reason.NO_ANSWER})
_SHORTLY = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar for one check, oldest on the left."""

    x: float
    y: float
    width: float
    height: float
    well: bool
    tooltip: str


@dataclass(frozen=True, slots=True)
class Chart:
    """The bars, the number of passed checks, and the longest duration in milliseconds."""

    bars: tuple[Bar, ...]
    well: int
    longest: int

    @property
    def count(self) -> int:
        """Number of checks."""
        return len(self.bars)


@dataclass(frozen=True, slots=True)
class HealthProblem:
    """A type of failure: its meaning and remedy, and the server's last output."""

    title: str
    words: str
    last_words: str
    times: int
    last_at: datetime
    # Hosts that its program was refused at about that time, and still is.
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """Health history: chart, latest checks, and problems."""

    chart: Chart
    checks: tuple[HealthCheck, ...]
    problems: tuple[HealthProblem, ...]
    newest: int


def health_of(integration: Integration, refused: Sequence[OutgoingHost] = ()) -> Health:
    """Return the health history of its server, whose program may not reach the refused hosts."""
    checks = list(integration.checks.order_by("-checked_at", "-pk")[:_CHECKS])
    newest = checks[0].pk if checks else 0
    return Health(chart_of(checks), tuple(checks[:_TABLE]), _problems(checks, refused), newest)


def check_now(*, by: User, integration: Integration) -> bool:
    """Queue a health check. Return False if the queue is down or the integration unconfirmed."""
    if integration.unconfirmed:
        return False
    sent = send_now(CHECK_INTEGRATION, integration.pk)
    if sent:
        record(by=by, action="integration.check", target=integration.slug)
    return sent


def chart_of(checks: Sequence[HealthCheck]) -> Chart:
    """Build the chart from checks, newest first. Failures have the full height."""
    longest = max((check.milliseconds or 0 for check in checks if not check.reason), default=0)
    step = WIDTH / max(len(checks), 24)
    bars = []
    for number, check in enumerate(reversed(checks)):
        height = (
            HEIGHT
            if check.reason
            else max(4.0, 0.8 * HEIGHT * (check.milliseconds or 0) / longest)
            if longest
            else 4.0
        )
        bars.append(
            Bar(
                x=round(number * step, 1),
                y=round(HEIGHT - height, 1),
                width=round(step - _GAP, 1),
                height=round(height, 1),
                well=not check.reason,
                tooltip=_tooltip(check),
            )
        )
    return Chart(tuple(bars), sum(bar.well for bar in bars), longest)


def _tooltip(check: HealthCheck) -> str:
    values = {
        "time": date_format(localtime(check.checked_at), "SHORT_DAY_TIME_FORMAT"),
        "reason": label_problem(check.reason),
        "number": number_format(check.milliseconds or 0, force_grouping=True),
    }
    if check.reason:
        return _("%(time)s: %(reason)s") % values
    if not check.milliseconds:
        return _("%(time)s: passed") % values
    return _("%(time)s: passed, %(number)s ms") % values


def _problems(
    checks: list[HealthCheck], refused: Sequence[OutgoingHost]
) -> tuple[HealthProblem, ...]:
    """Group failed checks by reason, latest first."""
    by_reason: dict[str, list[HealthCheck]] = {}
    for check in checks:
        if check.reason:
            by_reason.setdefault(check.reason, []).append(check)
    return tuple(
        HealthProblem(
            title=label_problem(reason),
            words=_(WORDS[Reason(reason)]) if reason in set(Reason) else _("It could not be used."),
            last_words=failed[0].last_words,
            times=len(failed),
            last_at=failed[0].checked_at,
            refused=_refused_before(failed[0], refused),
        )
        for reason, failed in list(by_reason.items())[:_PROBLEMS]
    )


def _refused_before(check: HealthCheck, refused: Sequence[OutgoingHost]) -> tuple[str, ...]:
    """Return the hosts that may be why a program ended, or why nothing came from it."""
    if check.reason not in _MAY_LACK_A_HOST:
        return ()
    since = check.checked_at - _SHORTLY
    return tuple(row.host for row in refused if row.last_at >= since)[:_HOSTS]
