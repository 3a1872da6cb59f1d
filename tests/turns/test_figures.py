"""Figures of success, from stored turns."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from discovery.insights.figures import report_figures
from discovery.models import OutcomeAlert, Turn
from discovery.turns.outcomes import report_outcome
from tests.access.people import People
from tests.turns.api_answers import get
from tests.turns.conftest import report
from tests.web.conftest import client_with, new_key

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
    assert (window["place"], window["samples"]) == ({"group": "support", "space": None}, 3)
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
