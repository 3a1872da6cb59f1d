"""Allowed transitions of a turn, enforced in Python and by the database."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise, product

import pytest
from django.db import IntegrityError, transaction

from discovery.models import Turn
from discovery.turns.records import ENDED, TRANSITIONS, State, list_steps, transition
from tests.access.people import People

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
# Columns that the database requires for a row in this state.
MARKS = {state: {"ended_at": AT} if state in ENDED else {} for state in State}


@pytest.fixture
def turn(people: People) -> Turn:
    return Turn.objects.create(user=people.alice, group=people.support)


def test_every_step_is_taken_if_and_only_if_it_is_allowed(turn: Turn) -> None:
    for before, after in product(State, State):
        times = {"degraded_at": AT, "ended_at": None, **MARKS[before]}
        Turn.objects.filter(pk=turn.pk).update(state=before, **times)

        taken = transition(turn.pk, after, at=AT)

        turn.refresh_from_db()
        assert taken == (after in TRANSITIONS[before]), (before, after)
        assert turn.state == (after if taken else before)


def test_whole_way_leaves_the_time_of_each_step(turn: Turn) -> None:
    way = [State.EXECUTING, State.DEGRADED, State.RECOVERED, State.COMPLETED]
    for minute, state in enumerate(way):
        transition(turn.pk, state, at=AT + timedelta(minutes=minute))

    turn.refresh_from_db()

    assert [step.state for step in list_steps(turn)] == [State.PLANNED, *way]
    assert all(
        later.at - earlier.at == timedelta(minutes=1)
        for earlier, later in pairwise(list_steps(turn)[1:])
    )


@pytest.mark.parametrize(
    "values",
    [
        {"state": "asleep"},
        {"mode": "some"},
        {"state": "completed"},  # without an end
        {"ended_at": AT},  # still under way
        {"recovered_at": AT},  # without having been degraded
        {"discovery_empty": 1},  # without a search
    ],
)
def test_database_refuses_what_cannot_be(turn: Turn, values: dict[str, object]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Turn.objects.filter(pk=turn.pk).update(**values)
