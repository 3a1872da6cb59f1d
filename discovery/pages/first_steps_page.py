"""The first steps: a checklist on the start page and on a page of its own."""

from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_http_methods

from acl.pages.frame import Frame, PageRequest, frame_of, render_page
from discovery.pages.first_steps_progress import (
    FirstStep,
    FirstSteps,
    first_steps,
    hide_steps,
    start_page_steps,
)

# Title, purpose, name of the page, and label of the link.
_TEXTS = {
    "install": (
        gettext_noop("Install an integration"),
        gettext_noop("Choose a server, a skill or a channel, and who may use it."),
        "marketplace",
        gettext_noop("Open marketplace"),
    ),
    "give": (
        gettext_noop("Grant access to a group"),
        gettext_noop("Assistants only get tools that the person's group may use."),
        "access",
        gettext_noop("Grant access"),
    ),
    "tools": (
        gettext_noop("Get tools"),
        gettext_noop("Your group is granted tools; you can request what is missing."),
        "my-tools",
        gettext_noop("Show my tools"),
    ),
    "try": (
        gettext_noop("Try a message"),
        gettext_noop("Type a message to see which tools are selected, and why."),
        "playground",
        gettext_noop("Try a message"),
    ),
    "key": (
        gettext_noop("Create an API key"),
        gettext_noop("A chat backend authenticates with a key of its group."),
        "key-new",
        gettext_noop("Create key"),
    ),
    "call": (
        gettext_noop("Make the first API call"),
        gettext_noop("The page of a new key shows a request that you can copy and run."),
        "key-new",
        gettext_noop("Create key for the call"),
    ),
}


@dataclass(frozen=True, slots=True)
class ChecklistStep:
    """A step with its texts and the link to do it."""

    name: str
    done: bool
    is_next: bool
    title: str
    text: str
    address: str
    action: str


@dataclass(frozen=True, slots=True)
class Checklist:
    """The checklist as pages show it."""

    found: FirstSteps
    steps: tuple[ChecklistStep, ...]


def start_page_checklist(request: PageRequest, frame: Frame, *, tried: bool) -> Checklist | None:
    """Return the checklist for the start page, recording that a message was tried."""
    found = start_page_steps(user=request.user, caller=frame.caller, trying=tried)
    return _checklist(found) if found else None


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def first_run(request: PageRequest) -> HttpResponse:
    """Show all steps; on POST, hide them on the start page or show them again."""
    if request.method == "POST":
        hidden = request.POST.get("hidden") == "on"
        hide_steps(user=request.user, hidden=hidden)
        if hidden:
            messages.success(
                request, _("The first steps are hidden. You can still find them on their own page.")
            )
        page = "today" if request.POST.get("back") == "today" else "playground"
        return redirect(page if hidden else "first-run")
    frame = frame_of(request)
    shown = _checklist(first_steps(user=request.user, caller=frame.caller))
    context = {"first_run": shown}
    return render_page(request, "first_steps/page.html", context, frame=frame)


def _checklist(found: FirstSteps) -> Checklist:
    return Checklist(found, tuple(_in_words(step, found) for step in found.steps))


def _in_words(step: FirstStep, found: FirstSteps) -> ChecklistStep:
    title, text, page, action = _TEXTS[step.name]
    if step.name == "tools" and not step.done:
        page, action = "requests", gettext_noop("Request access")
    return ChecklistStep(
        step.name, step.done, step == found.next, _(title), _(text), reverse(page), _(action)
    )
