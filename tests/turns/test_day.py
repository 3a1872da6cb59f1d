"""A day of traffic: the plan offers everything while selections fail, then recovers."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
import time_machine
from django.test import override_settings

from acl.platform.redis_circuit import redis_client
from discovery.models import Outcome, OutcomeAlert, Turn
from discovery.select.selection import SelectRequest
from discovery.turns._plan import Wanted, plan_turn
from discovery.turns.outcome_windows import read_stored_samples, read_window, scope_of, window_of
from discovery.turns.outcomes import report_outcome, verdict_of_status
from tests.access.people import People, invite
from tests.turns.conftest import MAIL

MORNING = datetime(2026, 3, 2, tzinfo=UTC)
EVERY = timedelta(minutes=10)
# From ten to one selections are wrong; from four to six the mail server is down.
MISSES, OUTAGE = range(10, 13), range(16, 18)


def live(people: People, now: datetime) -> str:
    """Simulate a turn at this hour; return its planned mode."""
    plan = plan_turn(Wanted(SelectRequest(MAIL, people.caller)))
    missed = now.hour in MISSES and plan.course.mode == "discovered"
    status = "failed" if missed or now.hour in OUTAGE else "success"
    turn = Turn.objects.get(pk=plan.turn_id)
    report_outcome(turn=turn, verdict=verdict_of_status(status), called=["gmail__send_email"])
    return plan.course.mode


@pytest.mark.django_db(transaction=True)
@override_settings(PEGBOARD_OUTCOME_WINDOW=20, PEGBOARD_ALERT_COOLDOWN_SECONDS=3600)
def test_a_day_of_traffic() -> None:
    for key in redis_client().scan_iter("pegboard:outcomes:*"):
        redis_client().delete(key)
    people, modes = invite(), {}
    with time_machine.travel(MORNING, tick=False) as clock:
        for number in range(24 * 6):
            now = MORNING + number * EVERY
            clock.move_to(now)
            modes[now] = live(people, now)
        scope = scope_of(people.support.pk, None)
        assert read_window(scope) == window_of(scope, read_stored_samples(scope))

    by_hour = {hour: {mode for at, mode in modes.items() if at.hour == hour} for hour in range(24)}
    assert all(by_hour[hour] == {"discovered"} for hour in range(10)), "a good night"
    # Seven of twenty failed: from then on everything is offered, and the rate recovers.
    assert "all" in by_hour[11]
    failed = Outcome.objects.filter(at__gte=MORNING + timedelta(hours=10), status="failed")
    assert failed.filter(at__lt=MORNING + timedelta(hours=13)).count() < 10, "of eighteen turns"
    assert by_hour[15] == {"discovered"}, "and back"
    assert by_hour[18] == {"all"}, "nothing helps against an outage"
    assert by_hour[23] == {"discovered"}, "and back again"
    alerts = list(OutcomeAlert.objects.order_by("at"))
    assert len(alerts) > 1, "the outage is told"
    assert {alert.at.hour for alert in alerts} <= {17, 18, 19}
    gaps = [later.at - earlier.at for earlier, later in pairwise(alerts)]
    assert gaps == [timedelta(hours=1)] * len(gaps)
