"""The first steps: a checklist on the start page and on a page of its own."""

from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from acl.pages.frame import Frame, PageRequest, frame_of, render_page
from discovery.pages.first_steps_progress import (
    FirstSteps,
    Step,
    first_steps,
    hide_steps,
    start_page_steps,
)

# Title, purpose, name of the page, and label of the link.
_TEXTS = {
    "install": (
        "Install something",
        "Choose a server, a skill or a channel, and who gets it.",
        "marketplace",
        "Open the marketplace",
    ),
    "give": (
        "Give a group access",
        "Only what a group was given can be chosen for its people.",
        "access",
        "Give access",
    ),
    "tools": (
        "Have tools",
        "Your group is given tools; you can ask for what is missing.",
        "my-tools",
        "See my tools",
    ),
    "try": (
        "Try a message",
        "Type what somebody might say, and see what is chosen and why.",
        "playground",
        "Try one",
    ),
    "key": (
        "Make a key",
        "A chat backend asks with a key of its group.",
        "key-new",
        "Make a key",
    ),
    "call": (
        "Make the first API call",
        "The page of a new key shows a line that works as it is.",
        "key-new",
        "Make a key to call with",
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
            messages.success(request, "The first steps are hidden. They stay on their own page.")
        return redirect("playground" if hidden else "first-run")
    frame = frame_of(request)
    shown = _checklist(first_steps(user=request.user, caller=frame.caller))
    context = {"first_run": shown}
    return render_page(request, "first_steps/page.html", context, frame=frame)


def _checklist(found: FirstSteps) -> Checklist:
    return Checklist(found, tuple(_in_words(step, found) for step in found.steps))


def _in_words(step: Step, found: FirstSteps) -> ChecklistStep:
    title, text, page, action = _TEXTS[step.name]
    if step.name == "tools" and not step.done:
        page, action = "requests", "Ask for access"
    return ChecklistStep(
        step.name, step.done, step == found.next, title, text, reverse(page), action
    )
