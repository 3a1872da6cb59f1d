"""Today: the page, and the answer of its forms. With htmx, an answer is the page's main part."""

from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_GET

from acl.pages.frame import PageRequest, frame_of, render_page
from acl.pages.key_forms import ReplaceForm
from discovery.pages.first_steps_page import start_page_checklist
from marketplace.operate.embedded.part_states import describe_broken_part, read_broken_parts
from marketplace.today.ending_keys import NewKey
from marketplace.today.todays_work import list_todays_work
from marketplace.today.week import read_week

LIFETIME = "90"  # days of a new key, unless another time is chosen


@dataclass(frozen=True, slots=True)
class Told:
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


def answer(request: PageRequest, told: Told) -> HttpResponse:
    """Show the outcome in its section, or, without htmx, on the page it leads back to."""
    if request.htmx or not told.done or told.problems or told.keys:
        return _show(request, told=told)
    messages.success(request, told.done)
    return redirect("today")


def _show(request: PageRequest, *, told: Told | None = None, chosen_all: str = "") -> HttpResponse:
    frame = frame_of(request)
    context = {
        "work": list_todays_work(person=request.user, caller=frame.everywhere),
        "week": read_week(request.user),
        "first_run": start_page_checklist(request, frame, tried=False),
        "broken_parts": _describe_broken_parts() if request.user.is_staff else [],
        "told": told,
        "chosen_all": chosen_all,
        "replacing": ReplaceForm(initial={"lifetime": LIFETIME}),
    }
    template = "today/today.html" + ("#work" if request.htmx else "")
    # htmx shows no answer with the status of an error.
    refused = told is not None and told.problems and not request.htmx
    response = render_page(request, template, context, frame=frame, status=422 if refused else 200)
    if told is not None and told.keys:
        patch_cache_control(response, no_store=True)
    return response


def _describe_broken_parts() -> list[str]:
    parts = read_broken_parts(Path(settings.PEGBOARD_DATA_DIR))
    return [describe_broken_part(name, part) for name, part in parts.items()]
