"""Today: the page, and the forms in its sections. With htmx, an answer is the page's main part."""

from dataclasses import dataclass

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_POST

from acl.models import AccessRequest
from acl.pages.frame import PageRequest, frame_of, render_page
from acl.pages.staff_pages import admins_only
from acl.rights.access_requests import RequestAnswered, decline_request
from catalog.models import Integration
from discovery.pages.first_steps_page import start_page_checklist
from marketplace.integrations.server_health import check_now
from marketplace.today.pending_calls import MOST, Decisions, cancel_each, decide_each
from marketplace.today.todays_work import list_todays_work
from marketplace.today.week import read_week

_REASON = gettext_lazy("Give a reason, so that the requester knows what to do.")


class CallsForm(forms.Form):
    """The verdict about the chosen calls, and the note."""

    verdict = forms.ChoiceField(choices=[(one, one) for one in ("approve", "reject", "cancel")])
    note = forms.CharField(required=False, max_length=500)


class DeclineForm(forms.Form):
    """The reason for declining the chosen requests."""

    note = forms.CharField(max_length=500, error_messages={"required": _REASON})


@dataclass(frozen=True, slots=True)
class Told:
    """The outcome of a form, shown in its section."""

    section: str
    done: str = ""
    problems: tuple[str, ...] = ()
    note: str = ""
    chosen: tuple[str, ...] = ()


@login_required
@require_GET
def today(request: PageRequest) -> HttpResponse:
    """Show what waits for the person, and their week."""
    return _show(request, chosen_all=request.GET.get("all", ""))


@login_required
@require_POST
def decide_calls(request: PageRequest) -> HttpResponse:
    """Approve or reject the chosen calls, or cancel own ones."""
    choices = tuple(request.POST.getlist("call")[:MOST])
    form = CallsForm(request.POST)
    if not form.is_valid():
        return _answer(request, Told("calls", problems=(_("Choose what to do with the calls."),)))
    verdict, note = form.cleaned_data["verdict"], form.cleaned_data["note"]
    section = "own" if verdict == "cancel" else "calls"
    problem = ""
    if not choices:
        problem = _("Choose at least one call.")
    elif verdict == "reject" and not note:
        problem = str(_REASON)
    if problem:
        return _answer(request, Told(section, problems=(problem,), note=note, chosen=choices))
    if verdict == "cancel":
        found = cancel_each(by=request.user, choices=choices)
        done = ngettext("%(count)s call cancelled.", "%(count)s calls cancelled.", found.done)
        return _answer(request, _told(section, found, done))
    approve = verdict == "approve"
    found = decide_each(by=request.user, choices=choices, approve=approve, note=note)
    if approve:
        done = ngettext("%(count)s call approved.", "%(count)s calls approved.", found.done)
    else:
        done = ngettext("%(count)s call rejected.", "%(count)s calls rejected.", found.done)
    return _answer(request, _told(section, found, done))


def _told(section: str, found: Decisions, done: str) -> Told:
    said = done % {"count": found.done} if found.done or not found.refusals else ""
    return Told(section, done=said, problems=found.refusals)


@admins_only
@require_POST
def decline_requests(request: PageRequest) -> HttpResponse:
    """Decline the chosen requests, with one reason."""
    keys = [
        key for key in request.POST.getlist("request")[:MOST] if key.isdecimal() and len(key) < 12
    ]
    form, note = DeclineForm(request.POST), request.POST.get("note", "")[:500]
    chosen = tuple(keys)
    if not keys:
        problem = _("Choose at least one request.")
        return _answer(request, Told("requests", problems=(problem,), note=note))
    if not form.is_valid():
        return _answer(
            request, Told("requests", problems=(str(_REASON),), note=note, chosen=chosen)
        )
    done, problems = 0, []
    for asked in AccessRequest.objects.filter(pk__in=keys).order_by("created_at", "pk"):
        try:
            decline_request(by=request.user, request=asked, note=form.cleaned_data["note"])
            done += 1
        except RequestAnswered as answered:
            problems.append(f"{asked.wish}: {answered}")
    said = ngettext("%(count)s request declined.", "%(count)s requests declined.", done)
    return _answer(request, Told("requests", said % {"count": done}, tuple(problems)))


@admins_only
@require_POST
def check_integrations(request: PageRequest) -> HttpResponse:
    """Check the chosen integrations again, in the worker."""
    slugs = request.POST.getlist("integration")[:MOST]
    rows = Integration.objects.filter(slug__in=slugs).order_by("title", "pk")
    queued = [row for row in rows if check_now(by=request.user, integration=row)]
    if not slugs:
        told = Told("trouble", problems=(_("Choose at least one integration."),))
    elif len(queued) < len(rows):
        problem = _("The check could not be queued. Is Redis running?")
        told = Told("trouble", problems=(problem,))
    else:
        said = ngettext(
            "%(count)s check is queued. The row goes once it has passed.",
            "%(count)s checks are queued. The rows go once they have passed.",
            len(queued),
        )
        told = Told("trouble", said % {"count": len(queued)})
    return _answer(request, told)


def _answer(request: PageRequest, told: Told) -> HttpResponse:
    """Show the outcome in its section, or, without htmx, on the page it leads back to."""
    if request.htmx or not told.done or told.problems:
        return _show(request, told=told)
    messages.success(request, told.done)
    return redirect("today")


def _show(request: PageRequest, *, told: Told | None = None, chosen_all: str = "") -> HttpResponse:
    frame = frame_of(request)
    context = {
        "work": list_todays_work(person=request.user, caller=frame.everywhere),
        "week": read_week(request.user),
        "first_run": start_page_checklist(request, frame, tried=False),
        "told": told,
        "chosen_all": chosen_all,
    }
    template = "today/today.html" + ("#work" if request.htmx else "")
    # htmx shows no answer with the status of an error.
    refused = told is not None and told.problems and not request.htmx
    return render_page(request, template, context, frame=frame, status=422 if refused else 200)
