"""How a turn may go on: planned → executing → degraded → recovered → completed or errored.

A step is one conditional UPDATE, so of two that are reported at once one is taken and the other is
told so.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from discovery.models import Turn

State = Turn.State

# Steps may be left out: a backend need not say that it has begun.
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


class Step(NamedTuple):
    """A state that a turn has come to, and when."""

    state: State
    at: datetime


def take_step(turn: UUID, to: State, *, at: datetime) -> bool:
    """Whether the turn was in a state from which it may go there; then it is there now."""
    sources = [state for state, following in TRANSITIONS.items() if to in following]
    rows = Turn.objects.filter(pk=turn, state__in=sources)
    return rows.update(state=to, **{_TIMES[to]: at}) == 1


def steps_of(turn: Turn) -> list[Step]:
    """The way that a turn has gone, in order."""
    times = ((state, getattr(turn, column)) for state, column in _TIMES.items())
    return [
        Step(state, at)
        for state, at in times
        if at is not None and (state not in ENDED or state == turn.state)
    ]
