"""Backends that plan turns and tell how they ended."""

import pytest

from acl.platform.redis_circuit import redis_circuit
from acl.rights.caller import Caller
from discovery.models import Turn
from discovery.turns.outcomes import Reported, report_outcome
from discovery.turns.verdicts import verdict_of_status
from tests.access.people import People, invite


@pytest.fixture
def people(db: None) -> People:
    return invite()


@pytest.fixture(autouse=True)
def _working_redis() -> None:
    """A test that broke Redis leaves nothing behind."""
    redis_circuit.close()


MAIL = "send an email with gmail__send_email"
NONSENSE = "zyx qwv"  # not a word of the catalogue's, and tests have no model


def report(people: People, status: str, *, caller: Caller | None = None) -> Reported:
    """A turn of alice's, or of somebody else's, that ended so."""
    who = caller or people.caller
    turn = Turn.objects.create(user_id=who.user_id, group_id=who.group_id, space_id=who.space_id)
    return report_outcome(turn=turn, verdict=verdict_of_status(status))
