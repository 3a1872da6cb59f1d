"""Turns over time: transitions, outcome windows, alerts, figures, and a day of traffic."""

import threading
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Group
from django.db import IntegrityError, connection, transaction
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from acl.models import Space
from acl.platform.redis_circuit import redis_circuit, redis_client
from discovery.insights.figures import report_figures
from discovery.models import Outcome, OutcomeAlert, Turn
from discovery.select.selection import SelectRequest
from discovery.turns._plan import Wanted, plan_turn
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
from discovery.turns.outcomes import raise_alert, report_outcome, verdict_of_status
from discovery.turns.records import ENDED, TRANSITIONS, State, list_steps, transition
from tests.access.people import People, invite
from tests.turns.api_answers import get
from tests.turns.conftest import MAIL, report
from tests.web.conftest import client_with, new_key

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


NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
SEND, SEARCH = "gmail__send_email", "gmail__search"


def happen(people: People, days_ago: float, *called: str, **columns: Any) -> Turn:
    """Create a turn of alice's that was offered gmail__send_email for 40 of 100 tokens."""
    usual = {"selected": [[f"tool:{SEND}", 0.9]], "tokens_all": 100, "tokens_selected": 40}
    about = {"user": people.alice, "group": people.support, **usual, **columns}
    with time_machine.travel(NOW - timedelta(days=days_ago), tick=False):
        turn = Turn.objects.create(**about)
        if called:
            report_outcome(turn=turn, called=called)
    return turn


@pytest.fixture
def week(people: People) -> People:
    """Four turns of support, one of the week before, and one of finance."""
    happen(people, 1, SEND, milliseconds=10)
    happen(people, 1, SEARCH, SEND, "no_such__tool", milliseconds=20)
    happen(people, 2, SEARCH, milliseconds=30, discovery_calls=2, discovery_empty=1)
    happen(people, 2, milliseconds=40, mode="all", tokens_selected=130)
    happen(people, 8, milliseconds=22)
    happen(people, 1, user=people.charlie, group=people.finance, tokens_all=10_000)
    return people


def test_figures_stand_beside_their_targets(week: People) -> None:
    report = report_figures(since=NOW - timedelta(days=7), until=NOW, group_id=week.support.pk)

    told = {name: (each.value, each.met, each.of) for name, each in report.figures.items()}
    assert told == {
        "tokens_saved": (180 / 400, False, 400),  # a turn with more tokens than all saves none
        "called_among_selected": (2 / 3, False, 3),
        "discovery_used": (1 / 4, False, 4),
        "discovery_empty": (1 / 2, False, 2),
        "added_latency_ms": (25.0, False, 4),
        "added_latency_p95_ms": (pytest.approx(38.5), False, 4),
    }
    assert report.figures["added_latency_ms"].target == 22
    assert (report.counts["called"], report.counts["called_selected"]) == (4, 2)
    assert (report.counts["success"], report.counts["partial"]) == (2, 1)
    assert (report.before.counts["turns"], report.before.figures["added_latency_ms"].of) == (1, 1)
    assert [(day.at, day.counts["turns"]) for day in report.days] == [
        (datetime(2026, 2, 28, tzinfo=UTC), 2),
        (datetime(2026, 3, 1, tzinfo=UTC), 2),
    ]


@pytest.mark.parametrize(
    ("called", "met"), [([SEND] * 6 + [SEARCH], True), ([SEND] * 17 + [SEARCH] * 3, False)]
)
def test_more_than_85_percent_is_more_than_85_percent(
    people: People, called: list[str], met: bool
) -> None:
    for name in called:
        happen(people, 1, name)

    report = report_figures(since=NOW - timedelta(days=7), until=NOW, group_id=None)

    assert report.figures["called_among_selected"].met is met
    assert report.figures["tokens_saved"].met is True
    assert report.figures["discovery_used"].met is True
    assert report.figures["discovery_empty"].met is None  # no turn searched


def warn(group: Group) -> None:
    about = {"severity": "warning", "reason": "bad", "threshold": 0.5, "value": 0, "samples": 8}
    OutcomeAlert.objects.create(scope="x", group=group, at=NOW, **about)


def test_number_of_statements_does_not_grow(week: People) -> None:
    admin = client_with(new_key(week.support, "admin"))
    paths = ("figures", "outcomes/windows", "outcomes/alerts")
    counts = []
    for rows in (1, 20):
        for number in range(rows):
            happen(week, number % 5, SEND)
            warn(week.support)
        for path in paths:
            with CaptureQueriesContext(connection) as statements:
                get(admin, path)
            counts.append(len(statements))

    assert counts[:3] == counts[3:]


def test_key_sees_its_own_group_and_staff_see_all(week: People) -> None:
    report(week, "failed", caller=week.stranger)
    warn(week.finance)
    time = {"since": (NOW - timedelta(days=7)).isoformat(), "until": NOW.isoformat()}
    admin, staff = client_with(new_key(week.support, "admin")), Client()
    week.bob.is_staff = True
    week.bob.save()
    staff.force_login(week.bob)

    def figures(client: Client, **more: str) -> Any:
        return client.get("/api/v1/figures", {**time, **more}).json()

    assert figures(admin)["group"] == "support"
    assert figures(admin, by="hour")["hours"][0]["at"] == "2026-02-28T12:00:00Z"
    assert figures(admin)["counts"]["turns"] == 4
    assert figures(staff)["counts"]["turns"] == 5
    assert figures(staff, group="finance")["counts"]["tokens_all"] == 10_000
    assert figures(admin, group="finance") == figures(admin, group="no such group")
    assert figures(admin, group="finance")["status"] == 403
    assert get(admin, "outcomes/alerts") == {"alerts": [], "total": 0, "limit": 50, "offset": 0}
    [window] = get(admin, "outcomes/windows")["windows"]
    assert window["place"] == {"group": "support", "space": None, "application": None}
    assert window["samples"] == 3
    assert len(get(staff, "outcomes/windows")["windows"]) == 2
    [alert] = get(staff, "outcomes/alerts")["alerts"]
    assert (alert["reason"], alert["place"]["group"]) == ("bad", "finance")
    with override_settings(PEGBOARD_OUTCOME_SCOPE="global"):
        assert get(admin, "outcomes/windows") == {"windows": []}
        assert get(staff, "outcomes/windows")["windows"][0]["samples"] == 4


@pytest.mark.parametrize(
    "query",
    ["since=2026-03-02T00:00Z&until=2026-03-01T00:00Z", "since=yesterday", "from=2026-03-01"],
)
def test_time_that_cannot_be_is_refused(people: People, query: str) -> None:
    admin = client_with(new_key(people.support, "admin"))

    answer = get(admin, f"figures?{query}", status=400)

    assert answer["field"] in {"since", "from"}


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
