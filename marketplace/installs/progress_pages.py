"""The progress page of an installation: its steps, with state, duration and log, and actions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from uuid import UUID

from django.contrib import messages
from django.db.models import Case, IntegerField, Value, When
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from acl.rights.caller_lookup import Caller
from acl.web.frame import PageRequest, admins_only, frame_of, render_page
from catalog.access.grants import stored_access
from catalog.models import Capability, Integration
from catalog.servers.cell.report import report_for
from discovery.example_requests.proposals import choose_tools
from marketplace.installs.requests import (
    NotPermittedError,
    ToolsChangedError,
    approve_seen_install,
    cancel_install,
    confirm_install,
    retry_install,
)
from marketplace.installs.store_step import tools_digest
from marketplace.models import Installation, InstallationEvent


@admins_only
@require_GET
def installation(request: PageRequest, public_id: UUID) -> HttpResponse:
    """Show the progress. htmx polls, and gets 204 while nothing is new."""
    progress = build_progress(_find(public_id))
    if request.htmx and request.GET.get("seen") == progress.version:
        return HttpResponse(status=204)
    template = "installs/progress.html" + ("#progress" if request.htmx else "")
    frame, row = frame_of(request), progress.installation
    is_ready = row.state == Installation.State.READY
    tools = tools_to_try(row.integration, frame.caller) if is_ready else ()
    context = {"progress": progress, "installation": row, "tools": tools}
    if is_ready:
        examples = next((tool.examples or [tool.display_name] for tool in tools), [""])
        access = stored_access(row.integration)
        described_poorly = len(choose_tools(row.integration, ()))
        context |= {"has_access": not access.is_empty, "sample": examples[0]}
        context["described_poorly"] = described_poorly
    context |= {"seen": tools_digest(row.tools), "cells": report_for(row.command)}
    return render_page(request, template, context, frame=frame)


@admins_only
@require_POST
def confirm(request: PageRequest, public_id: UUID) -> HttpResponse:
    """Confirm the command of the version that was found."""
    confirmed = request.POST.get("confirmed", "")
    return _act_and_show(
        request,
        public_id,
        partial(confirm_install, confirmed=confirmed),
        _("The command was not confirmed: it has changed, or you are not allowed to install it."),
    )


@admins_only
@require_POST
def approve(request: PageRequest, public_id: UUID) -> HttpResponse:
    """Approve the tools that were shown."""
    digest = request.POST.get("seen", "")
    otherwise = _("Nothing is left to approve.")
    return _act_and_show(
        request, public_id, partial(approve_seen_install, digest=digest), otherwise
    )


@admins_only
@require_POST
def retry(request: PageRequest, public_id: UUID) -> HttpResponse:
    """Restart a failed or cancelled installation, optionally with the offered bounds."""
    offered = _find(public_id).offered if "offered" in request.POST else None
    return _act_and_show(
        request,
        public_id,
        partial(retry_install, constraints=offered),
        _(
            "It could not be restarted. It may be in progress or done, or you are not allowed to "
            "install it."
        ),
    )


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def cancel(request: PageRequest, public_id: UUID) -> HttpResponse:
    """Ask for confirmation, then cancel the installation."""
    row = _find(public_id)
    if request.method == "POST":
        if not cancel_install(by=request.user, installation=row):
            messages.warning(request, _("It could not be cancelled: it has already ended."))
        return redirect("installation", public_id)
    if row.state in ENDED:
        return redirect("installation", public_id)
    context = {"installation": row}
    return render_page(request, "installs/cancel.html", context, frame=frame_of(request))


def _act_and_show(
    request: PageRequest, public_id: UUID, act: Callable[..., bool], otherwise: str
) -> HttpResponse:
    """Run the action, warn if it was not possible, and return to the progress page."""
    try:
        done = act(by=request.user, installation=_find(public_id))
    except NotPermittedError:
        done = False
    except ToolsChangedError as changed:
        done, otherwise = False, str(changed)
    if not done:
        messages.warning(request, otherwise)
    return redirect("installation", public_id)


def _find(public_id: UUID) -> Installation:
    rows = Installation.objects.select_related("integration", "by")
    return get_object_or_404(rows, public_id=public_id)


LATE_AFTER_SECONDS = 20  # seconds until a queued installation counts as late
State = Installation.State
DONE, NOW, FAILED, STOPPED, AHEAD = "done", "now", "failed", "stopped", "ahead"
# Steps as shown to people, and the states that belong to each.
_STEPS: tuple[tuple[Promise, tuple[State, ...]], ...] = (
    (gettext_lazy("Find the version"), (State.CONFIGURE,)),
    (gettext_lazy("Wait for a worker"), (State.QUEUED,)),
    (gettext_lazy("Needs a secret"), (State.NEEDS_SECRET,)),
    (gettext_lazy("Fetch"), (State.FETCHING,)),
    (gettext_lazy("Check"), (State.CHECKING,)),
    (gettext_lazy("Connect"), (State.CONNECTING,)),
    (gettext_lazy("List tools"), (State.LISTING,)),
    (gettext_lazy("Store"), (State.STORING,)),
    (gettext_lazy("Wait for approval"), (State.NEEDS_APPROVAL,)),
    (gettext_lazy("Index for search"), (State.EMBEDDING,)),
    (gettext_lazy("Ready"), (State.READY,)),
)
_OPTIONAL = {State.CONFIGURE, State.NEEDS_SECRET, State.NEEDS_APPROVAL}
# Without a secret it has ended as well: only "Try again" continues it.
ENDED = (State.READY, State.FAILED, State.CANCELLED, State.NEEDS_SECRET)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an installation. `seconds` is its duration, or the duration until it failed."""

    label: str
    state: str  # done, now, failed, stopped, ahead
    log: tuple[InstallationEvent, ...] = ()
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """An installation with its steps. `version` changes whenever there is something new to show."""

    installation: Installation
    steps: tuple[Step, ...]
    earlier: tuple[InstallationEvent, ...]  # events of earlier attempts
    version: str

    is_late: bool  # no worker has taken it in time

    @property
    def has_ended(self) -> bool:
        """True if nothing more will happen."""
        return self.installation.state in ENDED

    @property
    def waits_for(self) -> str:
        """ "confirm" or "approve" if a person has to act, else ""."""
        installation = self.installation
        if installation.state == State.CONFIGURE and installation.command_digest:
            return "confirm"
        return "approve" if installation.state == State.NEEDS_APPROVAL else ""

    @property
    def now(self) -> str:
        """Label of the current step."""
        return next((step.label for step in self.steps if step.state in (NOW, FAILED, STOPPED)), "")


def build_progress(installation: Installation) -> Progress:
    """Build the steps of the latest attempt from the events that workers have logged."""
    events = list(installation.events.order_by("pk"))
    ended = [at for at, event in enumerate(events[:-1]) if event.state in ENDED]
    start = ended[-1] + 1 if ended else 0
    earlier, latest = events[:start], events[start:]
    steps = tuple(_steps(installation, latest))
    waited = timezone.now() - installation.sent_at
    is_late = installation.state == State.QUEUED and waited.total_seconds() > LATE_AFTER_SECONDS
    version = f"{events[-1].pk if events else 0}-{installation.state}-{is_late:d}"
    return Progress(installation, steps, tuple(earlier), version, is_late)


def _steps(installation: Installation, events: Sequence[InstallationEvent]) -> list[Step]:
    times = _state_durations(installation, events)
    at = _current_index(installation, events)
    steps = []
    for place, (label, states) in enumerate(_STEPS):
        log = tuple(event for event in events if event.state in states)
        if not log and place != at and _OPTIONAL.intersection(states):
            continue
        ended = [event for event in events if event.state in (State.FAILED, State.CANCELLED)]
        if place == at:
            log = (*log, *ended)
        took = sum(times[state] for state in states if state in times) if log else None
        steps.append(Step(str(label), _step_state(installation, place, at), log, took))
    return steps


def _current_index(installation: Installation, events: Sequence[InstallationEvent]) -> int:
    """Return the index of the current step, or of the step at which it ended."""
    states = [installation.state, *(event.state for event in reversed(events))]
    at = next((state for state in states if state not in (State.FAILED, State.CANCELLED)), "")
    return next(
        (place for place, (label, step_states) in enumerate(_STEPS) if at in step_states), 0
    )


def _step_state(installation: Installation, place: int, at: int) -> str:
    if place != at:
        return DONE if place < at else AHEAD
    ended = {
        State.READY: DONE,
        State.FAILED: FAILED,
        State.CANCELLED: STOPPED,
        State.NEEDS_SECRET: STOPPED,
    }
    return ended.get(State(installation.state), NOW)


def _state_durations(
    installation: Installation, events: Sequence[InstallationEvent]
) -> dict[str, float]:
    """Return the seconds spent in each state: from its event to the next."""
    times: dict[str, float] = {}
    if events and events[0].state == State.FETCHING:
        waited = events[0].created_at - installation.created_at
        times[State.QUEUED] = waited.total_seconds()
    for event, after in pairwise(events):
        took = (after.created_at - event.created_at).total_seconds()
        times[event.state] = times.get(event.state, 0.0) + took
    return times


# Tools of an integration that has just become ready, for whoever wants to try one.

MOST = 6
_HARMLESS_FIRST = Case(
    When(side_effect=Capability.SideEffect.READ, then=Value(0)),
    default=Value(1),
    output_field=IntegerField(),
)


def tools_to_try(integration: Integration, caller: Caller | None) -> Sequence[Capability]:
    """Return some of its tools that the caller may use, those that only read first."""
    if caller is None:
        return []
    its_tools = Capability.objects.filter(integration=integration)
    usable = Capability.objects.usable_by(caller, among=its_tools).of_kind("tool")
    rows = usable.only("full_name", "display_name", "description", "side_effect", "examples")
    return list(rows.order_by(_HARMLESS_FIRST, "display_name", "pk")[:MOST])
