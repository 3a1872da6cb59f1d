"""The page Today, its forms, which decide the chosen rows of a section, and the week in figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import Count, Q
from django.db.models.functions import TruncDate
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.cache import patch_cache_control
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_POST

from acl.keys.pages import ReplaceForm
from acl.models import AccessRequest
from acl.rights.access_requests import RequestAnswered, decline_request
from acl.templatetags.pegboard import grouped
from acl.web.frame import PageRequest, admins_only, frame_of, render_page
from catalog.models import Integration
from discovery.insights.figures import report_figures
from discovery.insights.pages.charts import draw_sparkline
from discovery.insights.pages.measures import NO_VALUE, milliseconds, percent
from discovery.models import Call
from discovery.playground.page import start_page_checklist
from marketplace.integrations.server_health import check_now
from marketplace.operate.embedded.disk_guard import describe_broken_part, read_broken_parts
from marketplace.today._pending_reviews import decide_definitions, start_updates
from marketplace.today._section import (
    MOST_CALLS,
    Decisions,
    NewKey,
    cancel_each,
    decide_each,
    read_keys,
    replace_keys,
)
from marketplace.today._work import list_todays_work, mark_alerts

# Today: the page, and the answer of its forms. With htmx, an answer is the page's main part.

LIFETIME = "90"  # days of a new key, unless another time is chosen


@dataclass(frozen=True, slots=True)
class FormMessage:
    """The outcome of a form, shown in its section."""

    section: str
    done: str = ""
    problems: tuple[str, ...] = ()
    note: str = ""
    chosen: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()  # keys of the alerts to bring back
    keys: tuple[NewKey, ...] = ()


@login_required
@require_GET
def today(request: PageRequest) -> HttpResponse:
    """Show what waits for the person, and their week."""
    return _show(request, chosen_all=request.GET.get("all", ""))


def answer(request: PageRequest, outcome: FormMessage) -> HttpResponse:
    """Show the outcome in its section, or, without htmx, on the page it leads back to."""
    if request.htmx or not outcome.done or outcome.problems or outcome.keys:
        return _show(request, outcome=outcome)
    messages.success(request, outcome.done)
    return redirect("today")


def _show(
    request: PageRequest, *, outcome: FormMessage | None = None, chosen_all: str = ""
) -> HttpResponse:
    frame = frame_of(request)
    week = read_week(request.user)
    context = {
        "work": list_todays_work(person=request.user, caller=frame.everywhere),
        "week": week,
        "is_quiet": all(figure.is_empty for figure in week),
        "first_run": start_page_checklist(request, frame, tried=False),
        "broken_parts": _describe_broken_parts() if request.user.is_staff else [],
        "told": outcome,
        "chosen_all": chosen_all,
        "replacing": ReplaceForm(initial={"lifetime": LIFETIME}),
    }
    template = "today/today.html" + ("#work" if request.htmx else "")
    # htmx shows no answer with the status of an error.
    refused = outcome is not None and outcome.problems and not request.htmx
    response = render_page(request, template, context, frame=frame, status=422 if refused else 200)
    if outcome is not None and outcome.keys:
        patch_cache_control(response, no_store=True)
    return response


def _describe_broken_parts() -> list[str]:
    parts = read_broken_parts(Path(settings.PEGBOARD_DATA_DIR))
    return [describe_broken_part(name, part) for name, part in parts.items()]


_REASON = gettext_lazy("Give a reason, so that the requester knows what to do.")


class PendingCallsForm(forms.Form):
    """The verdict about the chosen calls, and the note."""

    verdict = forms.ChoiceField(choices=[(one, one) for one in ("approve", "reject", "cancel")])
    note = forms.CharField(required=False, max_length=500)


class DeclineForm(forms.Form):
    """The reason for declining the chosen requests."""

    note = forms.CharField(max_length=500, error_messages={"required": _REASON})


@login_required
@require_POST
def decide_calls(request: PageRequest) -> HttpResponse:
    """Approve or reject the chosen calls, or cancel own ones."""
    choices = tuple(request.POST.getlist("call")[:MOST_CALLS])
    form = PendingCallsForm(request.POST)
    if not form.is_valid():
        return answer(
            request, FormMessage("calls", problems=(_("Choose what to do with the calls."),))
        )
    verdict, note = form.cleaned_data["verdict"], form.cleaned_data["note"]
    section = "own" if verdict == "cancel" else "calls"
    problem = ""
    if not choices:
        problem = _("Choose at least one call.")
    elif verdict == "reject" and not note:
        problem = str(_REASON)
    if problem:
        return answer(request, FormMessage(section, problems=(problem,), note=note, chosen=choices))
    if verdict == "cancel":
        decisions = cancel_each(by=request.user, choices=choices)
        done = ngettext("%(count)s call cancelled.", "%(count)s calls cancelled.", decisions.done)
        return answer(request, _told(section, decisions, done))
    approve = verdict == "approve"
    decisions = decide_each(by=request.user, choices=choices, approve=approve, note=note)
    if approve:
        done = ngettext("%(count)s call approved.", "%(count)s calls approved.", decisions.done)
    else:
        done = ngettext("%(count)s call rejected.", "%(count)s calls rejected.", decisions.done)
    return answer(request, _told(section, decisions, done))


def _told(section: str, decisions: Decisions, done: str) -> FormMessage:
    message = done % {"count": decisions.done} if decisions.done or not decisions.refusals else ""
    return FormMessage(section, done=message, problems=decisions.refusals)


@admins_only
@require_POST
def decline_requests(request: PageRequest) -> HttpResponse:
    """Decline the chosen requests, with one reason."""
    chosen = tuple(request.POST.getlist("request")[:MOST_CALLS])
    keys = read_keys(chosen)
    form, note = DeclineForm(request.POST), request.POST.get("note", "")[:500]
    if not keys:
        problem = _("Choose at least one request.")
        return answer(request, FormMessage("requests", problems=(problem,), note=note))
    if not form.is_valid():
        return answer(
            request, FormMessage("requests", problems=(str(_REASON),), note=note, chosen=chosen)
        )
    done, problems = 0, []
    for access_request in AccessRequest.objects.filter(pk__in=keys).order_by("created_at", "pk"):
        try:
            decline_request(by=request.user, request=access_request, note=form.cleaned_data["note"])
            done += 1
        except RequestAnswered as answered:
            problems.append(f"{access_request.wish}: {answered}")
    message = ngettext("%(count)s request declined.", "%(count)s requests declined.", done)
    return answer(request, FormMessage("requests", message % {"count": done}, tuple(problems)))


@admins_only
@require_POST
def check_integrations(request: PageRequest) -> HttpResponse:
    """Check the chosen integrations again, in the worker."""
    slugs = request.POST.getlist("integration")[:MOST_CALLS]
    rows = Integration.objects.filter(slug__in=slugs).order_by("title", "pk")
    queued = [row for row in rows if check_now(by=request.user, integration=row)]
    if not slugs:
        outcome = FormMessage("trouble", problems=(_("Choose at least one integration."),))
    elif len(queued) < len(rows):
        problem = _("The check could not be queued. Is Redis running?")
        outcome = FormMessage("trouble", problems=(problem,))
    else:
        message = ngettext(
            "%(count)s check is queued. The row disappears once it has passed.",
            "%(count)s checks are queued. The rows disappear once they have passed.",
            len(queued),
        )
        outcome = FormMessage("trouble", message % {"count": len(queued)})
    return answer(request, outcome)


@admins_only
@require_POST
def decide_reviews(request: PageRequest) -> HttpResponse:
    """Approve or reject the chosen definitions, as they were displayed."""
    choices = tuple(request.POST.getlist("definition")[:MOST_CALLS])
    verdict = request.POST.get("verdict", "")
    if not choices:
        return answer(
            request, FormMessage("reviews", problems=(_("Choose at least one definition."),))
        )
    if verdict not in {"approve", "reject"}:
        problem = _("Choose what to do with the definitions.")
        return answer(request, FormMessage("reviews", problems=(problem,), chosen=choices))
    decisions = decide_definitions(by=request.user, choices=choices, approve=verdict == "approve")
    if verdict == "approve":
        done = ngettext(
            "%(count)s definition approved.", "%(count)s definitions approved.", decisions.done
        )
    else:
        done = ngettext(
            "%(count)s definition rejected.", "%(count)s definitions rejected.", decisions.done
        )
    return answer(request, _told("reviews", decisions, done))


@admins_only
@require_POST
def begin_updates(request: PageRequest) -> HttpResponse:
    """Start the chosen updates."""
    choices = tuple(request.POST.getlist("update")[:MOST_CALLS])
    if not choices:
        return answer(request, FormMessage("updates", problems=(_("Choose at least one update."),)))
    decisions = start_updates(by=request.user, choices=choices)
    done = ngettext(
        "%(count)s update started. The version in use stays until the new one is ready.",
        "%(count)s updates started. The versions in use stay until the new ones are ready.",
        decisions.done,
    )
    return answer(request, _told("updates", decisions, done))


@admins_only
@require_POST
def see_alerts(request: PageRequest) -> HttpResponse:
    """Mark the chosen alerts as seen, or bring those back that were."""
    keys = request.POST.getlist("alert")[:MOST_CALLS]
    if not keys:
        return answer(request, FormMessage("alerts", problems=(_("Choose at least one alert."),)))
    if request.POST.get("verdict") == "undo":
        back = len(mark_alerts(by=request.user, keys=keys, is_seen=False))
        message = ngettext("%(count)s alert is back.", "%(count)s alerts are back.", back)
        return answer(request, FormMessage("alerts", message % {"count": back}))
    alert_keys = mark_alerts(by=request.user, keys=keys, is_seen=True)
    message = ngettext(
        "%(count)s alert marked as seen.", "%(count)s alerts marked as seen.", len(alert_keys)
    )
    return answer(
        request, FormMessage("alerts", message % {"count": len(alert_keys)}, undo=tuple(alert_keys))
    )


@sensitive_variables("replacements")
@admins_only
@require_POST
def renew_keys(request: PageRequest) -> HttpResponse:
    """Replace the chosen keys, and show the new ones, this once."""
    keys = tuple(request.POST.getlist("key")[:MOST_CALLS])
    form = ReplaceForm(request.POST)
    if not keys or not form.is_valid():
        problem = _("Choose at least one key.") if not keys else _("Choose when the keys expire.")
        return answer(request, FormMessage("keys", problems=(problem,), chosen=keys))
    replacements = replace_keys(by=request.user, keys=keys, **form.times())  # type: ignore[arg-type]
    number = len(replacements.keys)
    message = ngettext("%(count)s key replaced.", "%(count)s keys replaced.", number)
    done = message % {"count": number} if number else ""
    return answer(request, FormMessage("keys", done, replacements.refusals, keys=replacements.keys))


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
