"""Fixtures: backends that plan turns and report outcomes."""

from acl.rights.caller_lookup import Caller
from discovery.models import Turn
from discovery.turns.outcomes import OutcomeReport, report_outcome, verdict_of_status
from tests.access.people import People

MAIL = "send an email with gmail__send_email"
NONSENSE = "zyx qwv"  # no word of the catalogue, and tests have no model


def report(people: People, status: str, *, caller: Caller | None = None) -> OutcomeReport:
    """Store a turn, by default alice's, with this outcome."""
    who = caller or people.caller
    turn = Turn.objects.create(user_id=who.user_id, group_id=who.group_id, space_id=who.space_id)
    return report_outcome(turn=turn, verdict=verdict_of_status(status))
