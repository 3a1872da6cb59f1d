"""Fixtures: backends that plan turns and report outcomes."""

import pytest

from acl.platform.redis_circuit import redis_circuit
from acl.rights.caller_lookup import Caller
from discovery.models import Turn
from discovery.turns.outcomes import OutcomeReport, report_outcome, verdict_of_status
from tests.access.people import People, invite


@pytest.fixture
def people(db: None) -> People:
    return invite()


@pytest.fixture(autouse=True)
def _working_redis() -> None:
    """Reset Redis in case a test broke it."""
    redis_circuit.close()


MAIL = "send an email with gmail__send_email"
NONSENSE = "zyx qwv"  # no word of the catalogue, and tests have no model


def report(people: People, status: str, *, caller: Caller | None = None) -> OutcomeReport:
    """Store a turn, by default alice's, with this outcome."""
    who = caller or people.caller
    turn = Turn.objects.create(user_id=who.user_id, group_id=who.group_id, space_id=who.space_id)
    return report_outcome(turn=turn, verdict=verdict_of_status(status))
