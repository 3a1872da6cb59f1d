"""What is decided before a turn: what it offers, what happens where discovery fails, and why.

Policy and mode come from the request, the settings, and how the last turns of the place went.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from discovery.answer import all_tools
from discovery.answer.injection import Injection, inject_everything, inject_selected
from discovery.models import Turn
from discovery.select.selection import Asked, Selection
from discovery.select.selector import select_capabilities
from discovery.turns.outcome_windows import Window
from discovery.turns.outcomes import store_failure, window_at
from discovery.turns.turn_records import store_turn
from discovery.turns.turn_state import State, take_step

POLICIES = ("fail_open", "fail_closed")
# A pinned capability is there whatever the message says; from this relevance on it is an answer.
PINNED_FITS = 0.3
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A message to plan for. `policy` and `mode` are those that the request asks for, if any."""

    asked: Asked
    policy: str | None = None
    mode: str | None = None
    provider: str = "mcp"
    context_window: int | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """Policy and mode as decided, why it is this mode, and the window that changed something, if
    one did; `opened` says why the policy is not the one that was set."""

    policy: str
    mode: str
    because: str
    window: Window | None = None
    opened: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """The answer: `selection` names what was selected for the message, nothing where everything is
    offered or nothing is; `injection` is what goes to the model."""

    turn_id: UUID
    state: State
    course: Course
    attempts: int
    decision: str
    offered: int
    selection: Selection
    injection: Injection


@dataclass(frozen=True, slots=True)
class Found:
    """What came of discovery: how often it was tried, and what failed in the end, if anything."""

    selection: Selection | None
    attempts: int
    failure: str = ""


Discover = Callable[[Asked], Selection]


def plan_turn(
    wanted: Wanted,
    *,
    discover: Discover = select_capabilities,
    sleep: Callable[[float], object] = time.sleep,
) -> Plan:
    """Decide, discover, fall back where that fails, and store the turn."""
    started = time.perf_counter()
    course = decide(wanted)
    if course.mode == "all":
        plan = _everything(wanted, course, Found(None, 0))
    else:
        found = _discover(wanted.asked, discover, sleep)
        if not found.failure and found.selection:
            plan = _discovered(wanted, course, found, found.selection)
        elif course.policy == "fail_open":
            plan = _everything(wanted, course, found)
        else:
            plan = _nothing(wanted, course, found)
    spent = (time.perf_counter() - started) * 1000
    timings = {**plan.selection.timings, "total": spent}
    return _stored(wanted, replace(plan, selection=replace(plan.selection, timings=timings)))


def decide(wanted: Wanted) -> Course:
    """Policy and mode: as asked for or as set, unless the last turns of the place went badly."""
    course = Course(
        wanted.policy or settings.PEGBOARD_PLAN_POLICY,
        wanted.mode or settings.PEGBOARD_PLAN_MODE,
        "the request asks for it" if wanted.mode else "this is how Pegboard is set up",
    )
    changes = settings.PEGBOARD_ADAPTIVE
    if changes == "off":
        return course
    window = window_at(wanted.asked.caller.group_id, wanted.asked.caller.space_id)
    least, threshold = settings.PEGBOARD_ADAPTIVE_SAMPLES, settings.PEGBOARD_ADAPTIVE_BELOW
    if not window.falls_below(threshold, least=least):
        return course
    adapted, why = course, _how_it_went(window, threshold)
    if changes in {"both", "all"} and course.mode == "discovered":
        adapted = replace(adapted, mode="all", because=why)
    # Who asks for a closed door gets one, however badly it goes.
    is_closed = course.policy == "fail_closed" and wanted.policy != "fail_closed"
    if changes in {"both", "fail_open"} and is_closed:
        adapted = replace(adapted, policy="fail_open", opened=f", since {why}")
    return course if adapted == course else replace(adapted, window=window)


def _how_it_went(window: Window, threshold: float) -> str:
    """Of everybody's turns no figure is told: they are other groups' too."""
    if window.scope.kind == "global":
        return "turns have gone badly lately"
    whose = "group" if window.scope.kind == "group" else "space"
    return (
        f"the last {window.samples} turns of this {whose} went badly, "
        f"with a weighted rate of success of {window.weighted_rate:.2f}, below {threshold:.2f}"
    )


def _discover(asked: Asked, discover: Discover, sleep: Callable[[float], object]) -> Found:
    """Ask the selector, and again after a while where it failed for want of something."""
    attempts = 1 + settings.PEGBOARD_PLAN_RETRIES
    for attempt in range(1, attempts + 1):
        if attempt > 1:
            sleep(settings.PEGBOARD_PLAN_BACKOFF_MS / 1000)
        try:
            selection = discover(asked)
        except Exception as problem:  # whatever it is, the turn must go on
            log.warning("discovery failed", attempt=attempt, exc_info=problem)
            found = Found(None, attempt, "Discovery failed.")
            continue
        found = Found(selection, attempt, _failure_of(selection))
        # Asked again with nothing missing, it would answer the same.
        if not found.failure or not selection.degraded:
            return found
    return found


def _failure_of(selection: Selection) -> str:
    """Finding nothing is right for small talk, and for who may use nothing."""
    if selection.small_talk or not selection.excluded_count + len(selection.selected):
        return ""
    fits = any(
        item.score >= PINNED_FITS if item.pinned else not item.needed_by
        for item in selection.selected
    )
    return "" if fits else "Discovery found nothing for a message that asks for something."


def _discovered(wanted: Wanted, course: Course, found: Found, selection: Selection) -> Plan:
    offered = "everything that the caller may use" if course.policy == "fail_open" else "nothing"
    return _plan(
        course,
        found,
        State.PLANNED,
        f"What fits the message, since {course.because}. Had discovery failed, {offered} would be"
        f" offered ({course.policy}{course.opened}).",
        selection=selection,
        injection=inject_selected(selection, provider=wanted.provider),
        offered=len(selection.selected),
    )


def _everything(wanted: Wanted, course: Course, found: Found) -> Plan:
    """All that the caller may use, in the mode that fits the budget; degraded where discovery was
    meant to answer."""
    asked = wanted.asked
    count, tokens = all_tools.measure(asked.caller, kind=asked.kind)
    injection = inject_everything(
        caller=asked.caller,
        provider=wanted.provider,
        kind=asked.kind,
        context_window=wanted.context_window,
        known=(count, tokens),
    )
    why = (
        f"{found.failure} The policy is fail_open{course.opened}."
        if found.failure
        else f"Since {course.because}."
    )
    decision = f"Everything that the caller may use. {why} {injection.choice.reason}"
    return _plan(
        course,
        found,
        State.DEGRADED if found.failure else State.PLANNED,
        decision,
        selection=_without_names(found, decision, tokens=tokens, offered=injection.tokens),
        injection=injection,
        offered=count,
    )


def _nothing(wanted: Wanted, course: Course, found: Found) -> Plan:
    tokens = found.selection.tokens_all if found.selection else 0
    decision = f"Nothing. {found.failure} The policy is fail_closed."
    selection = _without_names(found, decision, tokens=tokens, offered=0)
    return _plan(
        course,
        found,
        State.ERRORED,
        decision,
        selection=selection,
        injection=inject_selected(selection, provider=wanted.provider),
        offered=0,
    )


def _without_names(found: Found, reason: str, *, tokens: int, offered: int) -> Selection:
    """A selection of nothing, with what discovery did without."""
    notes = found.selection.degraded if found.selection else ()
    return Selection(
        selected=(),
        core_included=(),
        excluded_count=0,
        reason=reason,
        discovery_suggested=False,
        direct=None,
        degraded=(found.failure, *notes) if found.failure else (),
        tokens_all=tokens,
        tokens_selected=offered,
        timings=dict(found.selection.timings) if found.selection else {},
    )


def _plan(course: Course, found: Found, state: State, decision: str, **more: Any) -> Plan:
    # It gets its turn's id when it is stored.
    return Plan(UUID(int=0), state, course, found.attempts, decision, **more)


# Discovery is the first thing that a turn executes.
_WAYS = {
    State.PLANNED: (),
    State.DEGRADED: (State.EXECUTING, State.DEGRADED),
    State.ERRORED: (State.ERRORED,),
}


@transaction.atomic
def _stored(wanted: Wanted, plan: Plan) -> Plan:
    """The plan with its turn's row; one that failed closed has ended, and badly."""
    everything_is_offered = plan.course.mode == "all" or plan.state == State.DEGRADED
    turn = store_turn(
        wanted.asked,
        plan.selection,
        mode=Turn.Mode.ALL if everything_is_offered else Turn.Mode.DISCOVERED,
        plan=told_of(wanted, plan),
    )
    now = timezone.now()
    for state in _WAYS[plan.state]:
        take_step(turn.pk, state, at=now)
    if plan.state == State.ERRORED:
        store_failure(turn, at=now)
    return replace(plan, turn_id=turn.pk)


def told_of(wanted: Wanted, plan: Plan) -> dict[str, Any]:
    """What a plan decided, as it is kept and answered."""
    return {
        "failure_policy": plan.course.policy,
        "selection_mode": plan.course.mode,
        "kind": wanted.asked.kind,
        "retries": settings.PEGBOARD_PLAN_RETRIES,
        "attempts": plan.attempts,
        "decision": plan.decision,
        "adapted": plan.course.window is not None,
        "injection": plan.injection.choice.mode,
        "offered": plan.offered,
    }
