"""Outcome windows: the same by Redis and Postgres, and one alert at a time."""

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from django.db import connection
from django.test import override_settings

from acl.models import Space
from acl.platform.redis_circuit import redis_circuit, redis_client
from discovery.models import Outcome, OutcomeAlert, Turn
from discovery.turns.outcome_windows import (
    Sample,
    WindowScope,
    add_sample,
    normalize_space,
    read_stored_samples,
    read_window,
    scope_of,
    window_of,
)
from discovery.turns.outcomes import raise_alert
from tests.access.people import People, invite

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
SCORES = {"success": 1.0, "partial": 0.5, "failed": 0.0}


def end_badly(people: People, status: str = "failed", score: float | None = None) -> Sample:
    """Store a turn of alice's with a failed outcome."""
    turn = Turn.objects.create(user=people.alice, group=people.support)
    given = SCORES[status] if score is None else score
    outcome = Outcome.objects.create(
        turn=turn, group=people.support, status=status, score=given, source="reported", at=AT
    )
    return Sample(outcome.pk, outcome.status, outcome.score)


def forget() -> None:
    for key in redis_client().scan_iter("pegboard:outcomes:*"):
        redis_client().delete(key)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", range(3))
@override_settings(PEGBOARD_OUTCOME_WINDOW=7)
def test_redis_and_postgres_give_the_same_numbers(seed: int, tmp_path: Path) -> None:
    forget()
    random, people = Random(seed), invite()
    scope = scope_of(people.support.pk, None)
    late: list[Sample] = []
    for _ in range(40):
        match random.randrange(6):
            case 0 | 1 | 2:
                sample = end_badly(people, random.choice(list(SCORES)), random.random())
                late.append(sample)
                if random.random() < 0.7:  # some are reported later, in another order
                    random.shuffle(late)
                    while late:
                        add_sample(scope, late.pop())
            case 3:
                forget()
            case _ if not late:
                assert read_window(scope) == window_of(scope, read_stored_samples(scope))
                gone = override_settings(REDIS_URL=f"unix://{tmp_path}/nobody.sock")
                with gone:
                    assert read_window(scope) == window_of(scope, read_stored_samples(scope))
                redis_circuit.close()

    redis = redis_client()
    assert redis.zcard(f"pegboard:outcomes:7:{scope.key}") <= 8


@pytest.mark.django_db(transaction=True)
def test_what_never_reached_redis_counts_once_the_copy_has_expired() -> None:
    forget()
    people = invite()
    scope = scope_of(people.support.pk, None)
    assert read_window(scope).weighted_rate is None
    end_badly(people)

    before = read_window(scope).samples
    forget()  # as Redis does after five minutes

    assert (before, read_window(scope).samples) == (0, 1)
    assert 0 < redis_client().ttl(f"pegboard:outcomes:100:{scope.key}") <= 300


def test_figures_of_a_window(people: People) -> None:
    for status in ("success", "success", "partial", "failed"):
        end_badly(people, status)

    window = read_window(scope_of(people.support.pk, None))

    assert (window.samples, window.success, window.partial, window.failed) == (4, 2, 1, 1)
    assert (window.success_rate, window.average_score, window.weighted_rate) == (0.5, 0.625, 0.625)


def test_scope_is_of_a_space_a_group_or_all(people: People) -> None:
    root = Space.objects.get(group=people.support, parent=None)
    desk = Space.objects.create(group=people.support, parent=root, name="Desk", slug="desk")
    group = people.support.pk
    end_badly(people)

    assert scope_of(group, normalize_space(root.pk)) == scope_of(group, normalize_space(None))
    assert read_window(scope_of(group, normalize_space(desk.pk))).samples == 0
    for kind, key in (("group", f"group:{group}"), ("global", "global")):
        with override_settings(PEGBOARD_OUTCOME_SCOPE=kind):
            assert scope_of(group, desk.pk).key == key
            assert read_window(scope_of(group, desk.pk)).samples == 1


BAD = [Sample(number, "failed", 0.0) for number in range(8)]


@pytest.mark.parametrize(
    ("samples", "raised"),
    [
        (BAD, "critical"),
        (BAD[:7], None),  # too few
        ([*BAD[:4], *(Sample(9, "success", 1.0) for _ in range(4))], "warning"),
        ([*BAD[:3], *(Sample(9, "success", 1.0) for _ in range(5))], None),  # good enough
    ],
)
def test_alert_below_the_threshold_with_samples_enough(
    people: People, samples: list[Sample], raised: str | None
) -> None:
    alert = raise_alert(window_of(WindowScope("group", people.support.pk), samples), at=AT)

    assert (alert.severity if alert else None) == raised


def test_alert_is_not_repeated_before_its_cooldown_is_over(people: People) -> None:
    window = window_of(WindowScope("group", people.support.pk), BAD)
    seconds = [0, 1, 59.9, 60, 61, 119.9, 120]

    alerts = [raise_alert(window, at=AT + timedelta(seconds=second)) for second in seconds]

    assert [second for second, alert in zip(seconds, alerts, strict=True) if alert] == [0, 60, 120]
    other = raise_alert(window_of(WindowScope("group", people.finance.pk), BAD), at=AT)
    assert other is not None
    assert "8 failed" in other.reason
    with override_settings(PEGBOARD_ALERTS=False):
        assert raise_alert(window, at=AT + timedelta(days=1)) is None


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_raises_the_alert() -> None:
    people = invite()
    window = window_of(WindowScope("group", people.support.pk), BAD)
    together, raised = threading.Barrier(8), []

    def see_it() -> None:
        together.wait()
        try:
            raised.append(raise_alert(window, at=AT))
        finally:
            connection.close()

    threads = [threading.Thread(target=see_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(raised) == 8
    assert OutcomeAlert.objects.count() == 1
