"""Turn states: planned → executing → degraded → recovered → completed or errored.

A transition is one conditional UPDATE: of two concurrent ones, one succeeds and the other learns
it.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from discovery.models import Turn

State = Turn.State

# States may be skipped: a backend need not report that a turn started.
TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.PLANNED: frozenset({State.EXECUTING, State.DEGRADED, State.COMPLETED, State.ERRORED}),
    State.EXECUTING: frozenset({State.DEGRADED, State.COMPLETED, State.ERRORED}),
    State.DEGRADED: frozenset({State.RECOVERED, State.COMPLETED, State.ERRORED}),
    State.RECOVERED: frozenset({State.COMPLETED, State.ERRORED}),
    State.COMPLETED: frozenset(),
    State.ERRORED: frozenset(),
}
ENDED = frozenset(state for state, following in TRANSITIONS.items() if not following)
_TIMES = {
    State.PLANNED: "created_at",
    State.EXECUTING: "executing_at",
    State.DEGRADED: "degraded_at",
    State.RECOVERED: "recovered_at",
    State.COMPLETED: "ended_at",
    State.ERRORED: "ended_at",
}


class TurnStep(NamedTuple):
    """A state and the time it was entered."""

    state: State
    at: datetime


def transition(turn: UUID, to: State, *, at: datetime) -> bool:
    """Move the turn to a state if it may go there; return True if it moved."""
    sources = [state for state, following in TRANSITIONS.items() if to in following]
    rows = Turn.objects.filter(pk=turn, state__in=sources)
    return rows.update(state=to, **{_TIMES[to]: at}) == 1


def list_steps(turn: Turn) -> list[TurnStep]:
    """Return the states that the turn has passed through, in order."""
    times = ((state, getattr(turn, column)) for state, column in _TIMES.items())
    return [
        TurnStep(state, at)
        for state, at in times
        if at is not None and (state not in ENDED or state == turn.state)
    ]
