"""Progress of an installation: its steps, with state, duration and log."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.db.models import Case, IntegerField, Value, When
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from acl.rights.caller_lookup import Caller
from catalog.models import Capability, Integration
from marketplace.models import Installation, InstallationEvent

LATE_AFTER_SECONDS = 20  # seconds until a queued installation counts as late
State = Installation.State
DONE, NOW, FAILED, STOPPED, AHEAD = "done", "now", "failed", "stopped", "ahead"
# Steps as shown to people, and the states that belong to each.
_STEPS: tuple[tuple[Promise, tuple[State, ...]], ...] = (
    (_("Find the version"), (State.CONFIGURE,)),
    (_("Wait for a worker"), (State.QUEUED,)),
    (_("Needs a secret"), (State.NEEDS_SECRET,)),
    (_("Fetch"), (State.FETCHING,)),
    (_("Check"), (State.CHECKING,)),
    (_("Connect"), (State.CONNECTING,)),
    (_("List tools"), (State.LISTING,)),
    (_("Store"), (State.STORING,)),
    (_("Wait for approval"), (State.NEEDS_APPROVAL,)),
    (_("Index for search"), (State.EMBEDDING,)),
    (_("Ready"), (State.READY,)),
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
