"""The Playground, and the first steps: a checklist on the start page and on a page of its own."""

from dataclasses import dataclass, replace
from typing import Literal

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.db.models import Exists, Q
from django.db.models.functions import Coalesce, Now
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_GET, require_http_methods

from acl.models import ApiKey
from acl.platform.database_work import write_if_room
from acl.rights.caller_lookup import Caller
from acl.web.frame import Frame, PageRequest, frame_of, render_page
from catalog.models import Capability, Integration
from catalog.models.integration import ReviewState
from discovery.models import Call, FirstRun
from discovery.playground._answer import answer_message, compare_answers
from discovery.playground._callers import (
    OUTPUTS,
    PlaygroundForm,
    find_caller,
    find_people,
    list_choices,
    list_other_choices,
    read_fields,
)
from discovery.playground.outputs import build_link, build_output
from discovery.playground.sample_messages import find_conversation, list_samples


@require_http_methods(["GET", "HEAD", "POST"])
def playground(request: PageRequest) -> HttpResponse:
    """Show the form and, for a message, its answer; htmx requests get only that part."""
    if not request.user.pk:
        # Whoever opens the bare address begins with Today; a link to a message leads here.
        query = request.META["QUERY_STRING"]
        return redirect_to_login(request.get_full_path() if query else reverse("today"))
    frame = frame_of(request)
    form = PlaygroundForm(read_fields(request))
    # A message too long for a URL is posted; like a GET, that changes nothing.
    caller = find_caller(request, form, frame)
    if frame.caller is None and caller is None and not request.user.is_staff:
        return render_page(request, "no_group.html", {"title": _("Playground")}, frame=frame)
    answer = _answer(request, form, frame, caller)
    context = {
        "form": form,
        "outputs": OUTPUTS,
        "usual_most": settings.PEGBOARD_MAX_TOOLS,
        "choices": list_choices(request, form),
        "other_choices": list_other_choices(request, form, frame),
        "first_run": start_page_checklist(request, frame, tried=answer["selection"] is not None),
        **answer,
    }
    template = "playground/playground.html" + ("#answer" if request.htmx else "")
    return render_page(request, template, context, frame=frame)


@login_required
@require_GET
def people(request: PageRequest) -> HttpResponse:
    """Return names to complete what staff type into a caller field; empty for others."""
    typed = str(next(iter(request.GET.values()), ""))
    names = find_people(typed) if request.user.is_staff else ()
    return render(request, "playground/people.html", {"names": names})


def _answer(
    request: PageRequest, form: PlaygroundForm, frame: Frame, caller: Caller | None
) -> dict[str, object]:
    if caller is None or not form.has_message():
        return {"selection": None, "samples": list_samples(caller)}
    shared = {
        "link": build_link(request, form),
        "turns": find_conversation(form.cleaned_data["message"], form.history_lines()),
    }
    if form.cleaned_data["vs"]:
        compared = compare_answers(request, form, frame, caller)
        if compared is None:
            return {"selection": None, "samples": list_samples(caller)}
        first = compared.sides[0]
        return {**shared, "compared": compared, "side": first, "selection": first.selection}
    side = answer_message(request, form, frame, caller)
    output = build_output(request=request, form=form, preview=side.tried)
    return {
        **shared,
        "side": side,
        "selection": side.selection,
        "output": output,
        "output_text": output.text,
    }


# Progress of the first steps, derived from stored rows.

Name = Literal["install", "tools", "try", "connect", "call"]
# Kinds that the starter collection lacks, so an integration of theirs was added by someone.
_ADDED_KINDS = (*Integration.CALLED, Integration.Kind.MANIFEST, Integration.Kind.CATALOG)


@dataclass(frozen=True, slots=True)
class FirstStep:
    """A step, and whether it is done."""

    name: Name
    done: bool


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """All steps in order."""

    steps: tuple[FirstStep, ...]
    hidden: bool
    changed: bool = False  # by this very request

    @property
    def done(self) -> int:
        return sum(step.done for step in self.steps)

    @property
    def complete(self) -> bool:
        return self.done == len(self.steps)

    @property
    def next(self) -> FirstStep | None:
        """Return the first step that is not done."""
        return next((step for step in self.steps if not step.done), None)


def first_steps(*, user: User, caller: Caller | None) -> FirstSteps:
    """Return the user's steps, in two statements. Admins set Pegboard up for others."""
    row = FirstRun.objects.filter(pk=user.pk).first()
    return _steps(user, caller, row)


def start_page_steps(*, user: User, caller: Caller | None, trying: bool) -> FirstSteps | None:
    """Return the steps for the start page; None if they are hidden or already complete.

    `trying` records the first message tried there. For users who hid the steps or have tried a
    message, this takes one statement.
    """
    row = FirstRun.objects.filter(pk=user.pk).first()
    new = trying and (row is None or row.tried_at is None)
    if new:
        before = row
        row = write_if_room(lambda: _set_once(user, "tried_at"), otherwise=lambda: before)
    if row is not None and (row.hidden_at or (row.tried_at and not user.is_staff and not new)):
        return None
    steps = replace(_steps(user, caller, row), changed=new)
    return None if steps.complete and not new else steps


def hide_steps(*, user: User, hidden: bool) -> None:
    """Hide the steps on the user's start page, or show them again."""
    if hidden:
        _set_once(user, "hidden_at")
    else:
        FirstRun.objects.filter(pk=user.pk).update(hidden_at=None)


def _set_once(user: User, field: str) -> FirstRun:
    """Return the row, setting the field to the current time if it is empty."""
    FirstRun.objects.bulk_create([FirstRun(user=user)], ignore_conflicts=True)
    FirstRun.objects.filter(pk=user.pk).update(**{field: Coalesce(field, Now())})
    return FirstRun.objects.get(pk=user.pk)


def _steps(user: User, caller: Caller | None, row: FirstRun | None) -> FirstSteps:
    tried = row is not None and row.tried_at is not None
    hidden = row is not None and row.hidden_at is not None
    steps = _admin_steps(user, tried) if user.is_staff else _user_steps(caller, tried)
    return FirstSteps(steps, hidden)


def _admin_steps(user: User, tried: bool) -> tuple[FirstStep, ...]:
    # Match usable integrations that were installed, imported or connected.
    brought = Q(kind__in=_ADDED_KINDS) | ~Q(listing="")
    facts = (
        User.objects.filter(pk=user.pk)
        .annotate(
            installed=Exists(
                Integration.objects.filter(brought, state=ReviewState.APPROVED, enabled=True)
            ),
            connected=Exists(ApiKey.objects.all()),  # a client's connection has one, too
            called=Exists(Call.objects.all()),
        )
        .values("installed", "connected", "called")
        .get()
    )
    return (
        FirstStep("try", tried),
        FirstStep("install", facts["installed"]),
        FirstStep("connect", facts["connected"]),
        FirstStep("call", facts["called"]),
    )


def _user_steps(caller: Caller | None, tried: bool) -> tuple[FirstStep, ...]:
    has = caller is not None and Capability.objects.usable_by(caller).exists()
    return (FirstStep("tools", has), FirstStep("try", tried))


# Title, purpose, name of the page, and label of the link.
_TEXTS = {
    "install": (
        gettext_noop("Install a server"),
        gettext_noop("Choose a server or a skill, and the groups that may use it."),
        "marketplace",
        gettext_noop("Open marketplace"),
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
    "connect": (
        gettext_noop("Connect an assistant"),
        gettext_noop("Copy the set-up for Claude, Cursor or VS Code, or give a backend a key."),
        "connect",
        gettext_noop("Connect an assistant"),
    ),
    "call": (
        gettext_noop("See the first call"),
        gettext_noop("Ask your assistant for something. Each call is listed with its result."),
        "calls",
        gettext_noop("Open calls"),
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
    steps = start_page_steps(user=request.user, caller=frame.caller, trying=tried)
    return _checklist(steps) if steps else None


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
    checklist = _checklist(first_steps(user=request.user, caller=frame.caller))
    context = {"first_run": checklist}
    return render_page(request, "first_steps/page.html", context, frame=frame)


def _checklist(steps: FirstSteps) -> Checklist:
    return Checklist(steps, tuple(_in_words(step, steps) for step in steps.steps))


def _in_words(step: FirstStep, steps: FirstSteps) -> ChecklistStep:
    title, text, page, action = _TEXTS[step.name]
    if step.name == "tools" and not step.done:
        page, action = "requests", gettext_noop("Request access")
    return ChecklistStep(
        step.name, step.done, step == steps.next, _(title), _(text), reverse(page), _(action)
    )
