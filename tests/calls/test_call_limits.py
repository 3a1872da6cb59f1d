"""Limits of an integration's calls a minute, compared with a plain count of random histories."""

from datetime import datetime, timedelta
from math import ceil
from random import Random
from time import monotonic

import pytest
from django.db import connection
from django.db.models.functions import Now

from catalog.models import Capability
from discovery.calls.quotas import CallLimitReachedError, check_call_limit, set_call_limit
from discovery.models import Call
from tests.access.people import People
from tests.factories import CapabilityFactory, UserFactory, waiting_call
from tests.rights.conftest import session_of

KIND = "application/json"
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize("seed", range(25))
def test_an_integration_takes_as_many_calls_as_its_limit_in_any_minute(
    people: People, seed: int
) -> None:
    chance, a_minute = Random(seed), Random(seed).randint(1, 5)
    mine = [people.send, CapabilityFactory.create(integration=people.gmail)]
    set_call_limit(by=None, integration=people.gmail, a_minute=a_minute)
    made, counted = _clock(), []
    for _ in range(chance.randint(0, 8)):
        tool = chance.choice([*mine, people.read_page])
        age, is_cancelled = chance.uniform(1, 110), chance.random() < 0.3
        ending = {"state": "cancelled", "ended_at": Now()} if is_cancelled else {}
        call = waiting_call(people.alice, people.support, tool, "x")
        created_at = made - timedelta(seconds=age)
        Call.objects.filter(pk=call.pk).update(created_at=created_at, **ending)
        if tool in mine and not is_cancelled:
            counted.append(created_at)

    def seconds_to_wait(now: datetime) -> float:
        recent = sorted(at for at in counted if at > now - MINUTE)[-a_minute:]
        return (recent[0] + MINUTE - now).total_seconds() if len(recent) == a_minute else 0

    longest, seconds = seconds_to_wait(_clock()), 0
    try:
        check_call_limit(people.gmail, a_minute)
    except CallLimitReachedError as reached:
        seconds = reached.seconds
    assert ceil(seconds_to_wait(_clock())) <= seconds <= ceil(longest)


def _clock() -> datetime:
    """Return the database's time, within a transaction too."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def test_a_call_beyond_the_limit_is_told_when_to_try_again_and_not_stored(people: People) -> None:
    root = session_of(UserFactory.create(is_staff=True, is_superuser=True))
    at = "/api/v1/integrations/gmail/call-limit"
    Capability.objects.filter(pk=people.send.pk).update(ai_access="propose")
    alice, send = session_of(people.alice), {"name": "gmail__send_email", "arguments": {}}
    assert root.put(at, {"calls_per_minute": 2}, KIND).json() == {"calls_per_minute": 2}
    assert root.put(at, {"calls_per_minute": -1}, KIND).status_code == 400

    began = monotonic()

    answers = [alice.post("/api/v1/execute", send, KIND) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [202, 202, 429]
    assert 60 - (monotonic() - began) <= int(answers[2]["Retry-After"]) <= 60
    assert "takes 2 calls a minute" in answers[2].json()["detail"]
    assert Call.objects.count() == 2
    page = "/integrations/gmail/call-limit/"
    assert root.post(page, {"calls_per_minute": "many"}).status_code == 302
    assert root.get(at).json() == {"calls_per_minute": 2}
    assert root.post(page, {"calls_per_minute": ""}).status_code == 302
    assert root.get(at).json() == {"calls_per_minute": 0}
    assert alice.post("/api/v1/execute", send, KIND).status_code == 202
