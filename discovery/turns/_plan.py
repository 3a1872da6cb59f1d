"""The plan of a turn: what it offers, and what it falls back to if discovery fails.

Policy and mode come from the request, the settings, and the latest outcomes of the scope.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from acl.platform.answer_model import SPREAD, Answer, Shown, write_answer
from discovery.advice.advised import select_advised
from discovery.answer import modes
from discovery.answer.injection import Injection, inject_everything, inject_selected
from discovery.answer.modes import Mode, ModeChoice
from discovery.answer.selection import SearchResult, SelectionAnswer
from discovery.models import Turn
from discovery.models.turn import POLICIES
from discovery.select.selection import Selection, SelectRequest
from discovery.turns.outcome_windows import Window
from discovery.turns.outcomes import read_window_at, store_failure
from discovery.turns.records import State, store_turn, transition

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A message to plan for, with the policy and mode that the request asks for, if any."""

    asked: SelectRequest
    policy: str | None = None
    mode: str | None = None
    provider: str = "mcp"
    context_window: int | None = None


@dataclass(frozen=True, slots=True)
class Strategy:
    """The policy and mode of a plan, with the reasons for them.

    `window` is set if recent outcomes changed something; `opened` says why the policy was relaxed.
    """

    policy: str
    mode: str
    because: str
    window: Window | None = None
    opened: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A planned turn. `selection` names what matched the message; it is empty if everything or
    nothing is offered. `injection` is what goes to the model."""

    turn_id: UUID
    state: State
    course: Strategy
    attempts: int
    decision: str
    offered: int
    selection: Selection
    injection: Injection


@dataclass(frozen=True, slots=True)
class Decided(Answer):
    """The decisions of a plan, as stored with the turn."""

    failure_policy: Annotated[str, Shown(choices=POLICIES)]
    selection_mode: Annotated[str, Shown(choices=Turn.Mode.choices)]
    kind: str
    retries: Annotated[int, Shown("How often discovery may be tried again.")]
    attempts: Annotated[int, Shown("How often it was tried.")]
    decision: Annotated[str, Shown("What is offered and why, in words.")]
    adapted: Annotated[bool, Shown("Whether earlier outcomes changed the decision.")]
    injection: Annotated[Mode, Shown("How it is written for the model.")]
    offered: Annotated[int, Shown("How many capabilities the model may use.")]


@dataclass(frozen=True, slots=True)
class PlanAnswer(Answer):
    """The plan: a selection as `POST select` answers it, and what was decided. Where everything is
    offered, `selected` is empty, and `tools` and `prompt` have it."""

    component = "Plan"

    answer: Annotated[SelectionAnswer, SPREAD]
    decided: Annotated[Decided, SPREAD]
    mode: ModeChoice
    search_result: SearchResult
    state: Annotated[str, Shown(choices=Turn.State.choices)]


@dataclass(frozen=True, slots=True)
class DiscoveryResult:
    """The result of discovery, the number of attempts, and the failure that remained, or ""."""

    selection: Selection | None
    attempts: int
    failure: str = ""


Discover = Callable[[SelectRequest], Selection]


def plan_turn(
    options: Wanted,
    *,
    discover: Discover = select_advised,
    sleep: Callable[[float], object] = time.sleep,
) -> Plan:
    """Choose a policy and mode, discover, fall back if that fails, and store the turn."""
    started = time.perf_counter()
    course = choose_strategy(options)
    if course.mode == "all":
        plan = _everything(options, course, DiscoveryResult(None, 0))
    else:
        result = _discover(replace(options.asked, may_lag=True), discover, sleep)
        if not result.failure and result.selection:
            plan = _discovered(options, course, result, result.selection)
        elif course.policy == "fail_open":
            plan = _everything(options, course, result)
        else:
            plan = _nothing(options, course, result)
    spent = (time.perf_counter() - started) * 1000
    timings = {**plan.selection.timings, "total": spent}
    return _store(options, replace(plan, selection=replace(plan.selection, timings=timings)))


def choose_strategy(options: Wanted) -> Strategy:
    """Choose policy and mode: as requested or configured, unless recent outcomes were bad."""
    course = Strategy(
        options.policy or settings.PEGBOARD_PLAN_POLICY,
        options.mode or settings.PEGBOARD_PLAN_MODE,
        "the request asks for it" if options.mode else "this is how Pegboard is set up",
    )
    changes = settings.PEGBOARD_ADAPTIVE
    if changes == "off":
        return course
    window = read_window_at(options.asked.caller.group_id, options.asked.caller.space_id)
    least, threshold = settings.PEGBOARD_ADAPTIVE_SAMPLES, settings.PEGBOARD_ADAPTIVE_BELOW
    if not window.falls_below(threshold, least=least):
        return course
    adapted, why = course, _describe_window(window, threshold)
    if changes in {"both", "all"} and course.mode == "discovered":
        adapted = replace(adapted, mode="all", because=why)
    # A request that asks for fail_closed gets it, however bad the outcomes are.
    is_closed = course.policy == "fail_closed" and options.policy != "fail_closed"
    if changes in {"both", "fail_open"} and is_closed:
        adapted = replace(adapted, policy="fail_open", opened=f", since {why}")
    return course if adapted == course else replace(adapted, window=window)


def _describe_window(window: Window, threshold: float) -> str:
    """Describe the window. A global one gets no figures, since they include other groups' turns."""
    if window.scope.kind == "global":
        return "turns have gone badly lately"
    whose = "group" if window.scope.kind == "group" else "space"
    return (
        f"the last {window.samples} turns of this {whose} went badly, "
        f"with a weighted rate of success of {window.weighted_rate:.2f}, below {threshold:.2f}"
    )


def _discover(
    request: SelectRequest, discover: Discover, sleep: Callable[[float], object]
) -> DiscoveryResult:
    """Run the selector, and retry if it failed or answered without something it needed."""
    attempts = 1 + settings.PEGBOARD_PLAN_RETRIES
    for attempt in range(1, attempts + 1):
        if attempt > 1:
            sleep(settings.PEGBOARD_PLAN_BACKOFF_MS / 1000)
        try:
            selection = discover(request)
        except Exception as problem:  # an outage of any kind must not end the turn
            log.warning("discovery failed", attempt=attempt, exc_info=problem)
            result = DiscoveryResult(None, attempt, "Discovery failed.")
            continue
        result = DiscoveryResult(selection, attempt, _failure_of(selection))
        # With nothing missing, a retry would give the same answer.
        if not result.failure or not selection.degraded:
            return result
    return result


def _failure_of(selection: Selection) -> str:
    """Return why the selection counts as failed, or ""."""
    # Finding nothing is correct for small talk, for messages that name nothing, and for callers
    # without any tools.
    if selection.fit != "nothing_fits":
        return ""
    if not selection.excluded_count + len(selection.selected):
        return ""
    return "Discovery found nothing for a message that asks for something."


def _discovered(
    options: Wanted, course: Strategy, result: DiscoveryResult, selection: Selection
) -> Plan:
    offered = "everything that the caller may use" if course.policy == "fail_open" else "nothing"
    return _plan(
        course,
        result,
        State.PLANNED,
        f"What fits the message, since {course.because}. Had discovery failed, {offered} would be"
        f" offered ({course.policy}{course.opened}).",
        selection=selection,
        injection=inject_selected(selection, provider=options.provider),
        offered=len(selection.selected),
    )


def _everything(options: Wanted, course: Strategy, result: DiscoveryResult) -> Plan:
    """Plan to offer everything usable; degraded if discovery was meant to answer."""
    request = options.asked
    count, tokens = modes.measure(request.caller, kind=request.kind, only_here=request.only_here)
    injection = inject_everything(
        caller=request.caller,
        provider=options.provider,
        kind=request.kind,
        only_here=request.only_here,
        context_window=options.context_window,
        measured=(count, tokens),
    )
    why = (
        f"{result.failure} The policy is fail_open{course.opened}."
        if result.failure
        else f"Since {course.because}."
    )
    decision = f"Everything that the caller may use. {why} {injection.choice.reason}"
    return _plan(
        course,
        result,
        State.DEGRADED if result.failure else State.PLANNED,
        decision,
        selection=_without_names(result, decision, tokens=tokens, offered=injection.tokens),
        injection=injection,
        offered=count,
    )


def _nothing(options: Wanted, course: Strategy, result: DiscoveryResult) -> Plan:
    tokens = result.selection.tokens_all if result.selection else 0
    decision = f"Nothing. {result.failure} The policy is fail_closed."
    selection = _without_names(result, decision, tokens=tokens, offered=0)
    return _plan(
        course,
        result,
        State.ERRORED,
        decision,
        selection=selection,
        injection=inject_selected(selection, provider=options.provider),
        offered=0,
    )


def _without_names(result: DiscoveryResult, reason: str, *, tokens: int, offered: int) -> Selection:
    """Return an empty selection that keeps discovery's degradations, timings and help."""
    notes = result.selection.degraded if result.selection else ()
    help_offers = result.selection.help if result.selection else ()
    return Selection(
        selected=(),
        core_included=(),
        excluded_count=0,
        reason=reason,
        discovery_suggested=False,
        direct=None,
        degraded=(result.failure, *notes) if result.failure else (),
        tokens_all=tokens,
        tokens_selected=offered,
        timings=dict(result.selection.timings) if result.selection else {},
        fit="nothing_fits" if result.failure else "fits",
        help=help_offers,
    )


def _plan(
    course: Strategy, result: DiscoveryResult, state: State, decision: str, **more: Any
) -> Plan:
    # The id is set when the turn is stored.
    return Plan(UUID(int=0), state, course, result.attempts, decision, **more)


# States that each kind of plan passes through; discovery is the first thing a turn executes.
_STATES = {
    State.PLANNED: (),
    State.DEGRADED: (State.EXECUTING, State.DEGRADED),
    State.ERRORED: (State.ERRORED,),
}


@transaction.atomic
def _store(wanted: Wanted, plan: Plan) -> Plan:
    """Store the plan's turn; a plan that failed closed ends at once."""
    everything_is_offered = plan.course.mode == "all" or plan.state == State.DEGRADED
    turn = store_turn(
        wanted.asked,
        plan.selection,
        mode=Turn.Mode.ALL if everything_is_offered else Turn.Mode.DISCOVERED,
        plan=write_answer(plan_record(wanted, plan)),
    )
    now = timezone.now()
    for state in _STATES[plan.state]:
        transition(turn.pk, state, at=now)
    if plan.state == State.ERRORED:
        store_failure(turn, at=now)
    return replace(plan, turn_id=turn.pk)


def plan_record(options: Wanted, plan: Plan) -> Decided:
    """Return the plan's decisions, as stored and as answered."""
    return Decided(
        failure_policy=plan.course.policy,
        selection_mode=plan.course.mode,
        kind=options.asked.kind,
        retries=settings.PEGBOARD_PLAN_RETRIES,
        attempts=plan.attempts,
        decision=plan.decision,
        adapted=plan.course.window is not None,
        injection=plan.injection.choice.mode,
        offered=plan.offered,
    )
