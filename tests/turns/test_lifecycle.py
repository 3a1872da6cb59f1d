"""How a turn may go on, whatever Python or the database is asked for."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise, product

import pytest
from django.db import IntegrityError, transaction

from discovery.models import Turn
from discovery.turns.turn_state import ENDED, TRANSITIONS, State, steps_of, take_step
from tests.access.people import People

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
# What the database asks of a row in this state, beside the state itself.
MARKS = {state: {"ended_at": AT} if state in ENDED else {} for state in State}


@pytest.fixture
def turn(people: People) -> Turn:
    return Turn.objects.create(user=people.alice, group=people.support)


def test_every_step_is_taken_if_and_only_if_it_is_allowed(turn: Turn) -> None:
    for before, after in product(State, State):
        times = {"degraded_at": AT, "ended_at": None, **MARKS[before]}
        Turn.objects.filter(pk=turn.pk).update(state=before, **times)

        taken = take_step(turn.pk, after, at=AT)

        turn.refresh_from_db()
        assert taken == (after in TRANSITIONS[before]), (before, after)
        assert turn.state == (after if taken else before)


def test_whole_way_leaves_the_time_of_each_step(turn: Turn) -> None:
    way = [State.EXECUTING, State.DEGRADED, State.RECOVERED, State.COMPLETED]
    for minute, state in enumerate(way):
        take_step(turn.pk, state, at=AT + timedelta(minutes=minute))

    turn.refresh_from_db()

    assert [step.state for step in steps_of(turn)] == [State.PLANNED, *way]
    assert all(
        later.at - earlier.at == timedelta(minutes=1)
        for earlier, later in pairwise(steps_of(turn)[1:])
    )


@pytest.mark.parametrize(
    "values",
    [
        {"state": "asleep"},
        {"mode": "some"},
        {"state": "completed"},  # and no end
        {"ended_at": AT},  # and under way
        {"recovered_at": AT},  # from nothing
        {"discovery_empty": 1},  # of no call
    ],
)
def test_database_refuses_what_cannot_be(turn: Turn, values: dict[str, object]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Turn.objects.filter(pk=turn.pk).update(**values)
