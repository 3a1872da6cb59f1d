"""Outcomes of turns: stored, counted in their window, and alerted on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import pglock
import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from acl.models import Application, chain_columns
from catalog.models import Capability
from discovery.flow_guard.turn_memory import forget_turn
from discovery.learning.experience_store import record_experience
from discovery.models import Call, Called, Outcome, OutcomeAlert, Turn
from discovery.turns.outcome_windows import (
    Sample,
    Window,
    WindowScope,
    add_sample,
    normalize_space,
    read_window,
    scope_of,
)
from discovery.turns.records import State, TurnEnded, caller_of_turn, transition

# Verdicts on turns: reported, or inferred from what was called.

Status = Outcome.Status
SCORES = {Status.SUCCESS: 1.0, Status.PARTIAL: 0.5, Status.FAILED: 0.0}


class Verdict(NamedTuple):
    """A status, its score from 0 to 1, and whether it was reported or inferred."""

    status: Outcome.Status
    score: float
    source: Outcome.Source = Outcome.Source.REPORTED


def verdict_of_status(status: str) -> Verdict:
    """Return the verdict of a status, with its default score."""
    status_value = Status(status)
    return Verdict(status_value, SCORES[status_value])


def verdict_of_score(score: float) -> Verdict:
    """Return the verdict of a score, with the nearest status; the better one if two are as near."""
    nearest = min(SCORES, key=lambda status: (abs(SCORES[status] - score), -SCORES[status]))
    return Verdict(nearest, score)


def infer_verdict(*, called: int, offered: int, searches: int) -> Verdict:
    """Infer the verdict from how many names were called, how many of them had been offered, and how
    often the model searched for tools."""
    # Calling an offered tool means the selection was right. Calling another one means the model
    # found it in some other way. A search without a call found nothing; with neither, no tool was
    # needed.
    if offered:
        status = Status.SUCCESS
    elif called:
        status = Status.PARTIAL
    else:
        status = Status.FAILED if searches else Status.SUCCESS
    return Verdict(status, SCORES[status], Outcome.Source.WORKED_OUT)


_NEVER_STARTED = (Call.State.REJECTED, Call.State.EXPIRED, Call.State.CANCELLED)


@dataclass(frozen=True, slots=True)
class OutcomeReport:
    """A stored report: the turn, the known capabilities it called, its window, and any alert."""

    turn: Turn
    outcome: Outcome
    called: tuple[Called, ...]
    window: Window
    alert: OutcomeAlert | None


def report_outcome(
    *, turn: Turn, verdict: Verdict | None = None, called: Sequence[str] = (), note: str = ""
) -> OutcomeReport:
    """End a turn, inferring a missing verdict. Raises TurnEnded if it has ended already."""
    at, names = timezone.now(), list(dict.fromkeys([*called, *_called_through_pegboard(turn)]))
    calls = _known_calls(turn, names)
    offered = sum(call.selected for call in calls)
    verdict = verdict or infer_verdict(
        called=len(names), offered=offered, searches=turn.discovery_calls
    )
    outcome = _outcome(turn, verdict, at=at, called=names, note=note)
    outcome.called_known, outcome.called_selected = len(calls), offered
    scope = _store(turn, outcome, calls)
    turn.refresh_from_db()
    window = read_window(scope)
    alert = raise_alert(window, at=at)
    for beside in _application_scope(turn):
        raise_alert(read_window(beside), at=at)
    return OutcomeReport(turn, outcome, tuple(calls), window, alert)


def store_failure(turn: Turn, *, at: datetime) -> None:
    """Store the outcome of a turn that failed before it began."""
    verdict = Verdict(Status.FAILED, 0.0, Outcome.Source.WORKED_OUT)
    scope = _store_row(turn, _outcome(turn, verdict, at=at), [])
    for counted in (scope, *_application_scope(turn)):
        raise_alert(read_window(counted), at=at)


def read_window_at(group_id: int, space_id: int | None) -> Window:
    """Return the window in which a turn of this group and space would count."""
    return read_window(scope_of(group_id, normalize_space(space_id)))


def list_alerts(group_id: int | None) -> QuerySet[OutcomeAlert]:
    """Return the alerts of a group, or all alerts, newest first."""
    alerts = OutcomeAlert.objects.select_related("group", "application").order_by("-at", "-pk")
    return alerts if group_id is None else alerts.filter(group=group_id)


def _outcome(turn: Turn, verdict: Verdict, *, at: datetime, **more: Any) -> Outcome:
    return Outcome(
        turn=turn,
        group_id=turn.group_id,
        space_id=normalize_space(turn.space_id),
        application_id=turn.application_id,
        status=verdict.status,
        score=verdict.score,
        source=verdict.source,
        at=at,
        **chain_columns(),
        **more,
    )


@transaction.atomic
def _store(turn: Turn, outcome: Outcome, calls: Sequence[Called]) -> WindowScope:
    # End the turn. A degraded turn that succeeded recovers first.
    status = Status(outcome.status)
    end = State.ERRORED if status == Status.FAILED else State.COMPLETED
    recovers = turn.degraded_at is not None and status == Status.SUCCESS
    for step in (State.RECOVERED, end) if recovers else (end,):
        if not transition(turn.pk, step, at=outcome.at):
            turn.refresh_from_db()
            raise TurnEnded(turn.state)
    forget_turn(turn.pk)
    called = [call.capability_id for call in calls if call.capability_id is not None]
    # An inferred verdict judges the selection, not the capabilities that were called.
    worked_out = outcome.source == Outcome.Source.WORKED_OUT
    record_experience(turn=turn, called=called, score=1.0 if worked_out else outcome.score)
    return _store_row(turn, outcome, calls)


def _store_row(turn: Turn, outcome: Outcome, calls: Sequence[Called]) -> WindowScope:
    outcome.save(force_insert=True)
    for call in calls:
        call.outcome = outcome
    Called.objects.bulk_create(calls)
    scope = scope_of(outcome.group_id, outcome.space_id)
    sample = Sample(outcome.pk, outcome.status, outcome.score)
    for counted in (scope, *_application_scope(turn)):
        transaction.on_commit(partial(add_sample, counted, sample))
    return scope


def _application_scope(turn: Turn) -> list[WindowScope]:
    """Return the window of the turn's application, beside that of its place; none without one."""
    key = turn.application_id
    return [WindowScope("application", application_id=key)] if key is not None else []


def _called_through_pegboard(turn: Turn) -> list[str]:
    """Return the names called through Pegboard, which need not be reported."""
    calls = turn.calls.exclude(state__in=_NEVER_STARTED).order_by("created_at", "pk")
    return list(calls.values_list("full_name", flat=True))


def _known_calls(turn: Turn, names: Sequence[str]) -> list[Called]:
    """Return the called capabilities that the turn's caller may use.

    Other names are not looked up, so that hidden ones cannot be told from unknown ones.
    """
    if not names:
        return []
    rows = Capability.objects.filter(full_name__in=names)
    usable = Capability.objects.usable_by(caller_of_turn(turn), unavailable=True, among=rows)
    capabilities = usable.order_by("full_name")
    selected = {identifier for identifier, _ in turn.selected}
    everything = turn.mode == Turn.Mode.ALL
    return [
        Called(capability_id=pk, full_name=full_name, selected=everything or identifier in selected)
        for pk, full_name, identifier in capabilities.values_list("pk", "full_name", "identifier")
    ]


log = structlog.get_logger(__name__)


def raise_alert(window: Window, *, at: datetime) -> OutcomeAlert | None:
    """Return a new alert; None if outcomes are fine, alerts are off, or the cooldown lasts."""
    least, threshold = settings.PEGBOARD_ALERT_SAMPLES, settings.PEGBOARD_ALERT_BELOW
    application = None
    if window.scope.application_id is not None:
        application = Application.objects.filter(pk=window.scope.application_id).first()
        if application is None:
            return None
        if application.alert_below is not None:
            threshold = application.alert_below
    if not settings.PEGBOARD_ALERTS or not window.falls_below(threshold, least=least):
        return None
    alert = _create_alert_once(window, at, threshold, application)
    if alert:
        log.warning("turns go badly", scope=alert.scope, rate=alert.value, samples=alert.samples)
    return alert


@transaction.atomic
def _create_alert_once(
    window: Window, at: datetime, threshold: float, application: Application | None
) -> OutcomeAlert | None:
    """Create the alert under a lock, unless another process has just created it."""
    pglock.advisory(f"discovery.alerts/{window.scope.key}", xact=True).acquire()
    cooldown = timedelta(seconds=settings.PEGBOARD_ALERT_COOLDOWN_SECONDS)
    if OutcomeAlert.objects.filter(scope=window.scope.key, at__gt=at - cooldown).exists():
        return None
    rate = window.weighted_rate or 0.0
    critical = rate < threshold / 2
    return OutcomeAlert.objects.create(
        scope=window.scope.key,
        # Those who own an application are told of it.
        group_id=application.group_id if application else window.scope.group_id,
        application=application,
        space_id=window.scope.space_id,
        severity=OutcomeAlert.Severity.CRITICAL if critical else OutcomeAlert.Severity.WARNING,
        reason=f"Of the last {window.samples} turns {window.failed} failed and {window.partial}"
        " succeeded in part.",
        threshold=threshold,
        value=rate,
        samples=window.samples,
        at=at,
    )
