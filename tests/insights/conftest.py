"""Fixtures of Insights: people with turns of two days."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User

from discovery.models import Turn
from discovery.turns.outcomes import report_outcome, verdict_of_status
from tests.access.people import People

NOW = datetime(2026, 3, 4, 12, 30, tzinfo=UTC)
SEND, SEARCH = "gmail__send_email", "gmail__search"


def happen(
    people: People, hours_ago: float, *called: str, status: str = "", **columns: Any
) -> Turn:
    """Create a turn of alice's that was offered gmail__send_email for 40 of 100 tokens."""
    usual = {"selected": [[f"tool:{SEND}", 0.9]], "tokens_all": 100, "tokens_selected": 40}
    about = {"user": people.alice, "group": people.support, "milliseconds": 20, **usual, **columns}
    with time_machine.travel(NOW - timedelta(hours=hours_ago), tick=False):
        turn = Turn.objects.create(**about)
        if called or status:
            verdict = verdict_of_status(status) if status else None
            report_outcome(turn=turn, verdict=verdict, called=called)
    return turn


@pytest.fixture
def in_the_story() -> Iterator[None]:
    """Freeze the time at NOW."""
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def root(people: People) -> User:
    return User.objects.create_superuser("root")


@pytest.fixture
def days(people: People) -> People:
    """alice calls, bob fails, charlie of finance pays; and one turn of an earlier period."""
    happen(people, 1, SEND)
    happen(people, 2, SEND, SEARCH, discovery_calls=2, discovery_empty=1, message="my secret wish")
    happen(people, 26, SEARCH, milliseconds=40)
    happen(people, 3, status="failed", user=people.bob)
    pay: dict[str, Any] = {
        "user": people.charlie,
        "group": people.finance,
        "selected": [["tool:payroll__pay", 1]],
    }
    happen(people, 4, "payroll__pay", **pay)
    happen(people, 10 * 24, SEND)
    return people
