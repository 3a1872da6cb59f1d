"""Plans, turns and outcomes as a chat backend uses them."""

import threading
from typing import Any

import pytest
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from catalog.models import Capability
from discovery.models import Outcome, Turn
from discovery.turns.outcomes import infer_verdict, report_outcome, verdict_of_score
from discovery.turns.records import TurnEnded, note_discovery
from tests.access.people import People, invite
from tests.factories import take_away
from tests.sessions import session_of
from tests.turns.api_answers import get
from tests.turns.conftest import MAIL, NONSENSE
from tests.web.conftest import client_with, new_key

BODY = {"message": MAIL, "user": "alice"}


def post(client: Client, path: str, body: object = None, *, status: int = 200) -> dict[str, Any]:
    response = client.post(f"/api/v1/{path}", body or {}, content_type="application/json")
    assert response.status_code == status, response.content
    answer: dict[str, Any] = response.json()
    return answer


@pytest.fixture
def client(people: People) -> Client:
    return client_with(new_key(people.support))


@pytest.fixture
def turn(client: Client) -> str:
    """A turn of alice's with the offer of gmail__send_email."""
    return str(post(client, "plan", {**BODY, "max_tools": 1})["turn_id"])


def test_plan_is_a_selection_with_what_was_decided(client: Client) -> None:
    plan, selection = post(client, "plan", BODY), post(client, "select", BODY)

    for answer in (plan, selection):
        del answer["turn_id"], answer["timings"]
    decided = {name: plan.pop(name) for name in plan.keys() - selection.keys()}
    assert plan == selection
    assert "What fits the message" in decided.pop("decision")
    assert decided == {
        "state": "planned", "failure_policy": "fail_open", "selection_mode": "discovered",
        "kind": "any", "retries": 1, "attempts": 1, "adapted": False, "window": None,
        "injection": "selected", "offered": len(selection["selected"]),
    }  # fmt: skip


def test_plan_takes_one_statement_more_than_a_selection(client: Client) -> None:
    post(client, "plan", BODY)

    counts = []
    for path in ("select", "plan"):
        with CaptureQueriesContext(connection) as statements:
            post(client, path, BODY)
        written = [each["sql"] or "" for each in statements]
        counts.append(len([sql for sql in written if "SAVEPOINT" not in sql]))

    # The window, which is read from Redis outside of tests.
    assert counts[1] <= counts[0] + 1


def test_where_nothing_is_found_all_of_the_callers_own_is_offered(client: Client) -> None:
    with override_settings(PEGBOARD_PLAN_BACKOFF_MS=0):
        plan = post(client, "plan", {**BODY, "message": NONSENSE, "format": "openai"})

    assert plan["degraded"] is True
    assert (plan["state"], plan["attempts"], plan["injection"]) == ("degraded", 2, "direct")
    names = [tool["function"]["name"] for tool in plan["tools"]]
    assert names == ["gmail__search", "gmail__send_email", "wiki__read_page"]
    assert plan["offered"] == 3


def test_fail_closed_answers_with_no_tools(client: Client) -> None:
    body = {**BODY, "message": NONSENSE, "failure_policy": "fail_closed"}
    with override_settings(PEGBOARD_PLAN_BACKOFF_MS=0):
        plan = post(client, "plan", body)

    assert (plan["tools"], plan["selected"], plan["prompt"]) == ([], [], "")
    assert (plan["state"], plan["failure_policy"]) == ("errored", "fail_closed")
    told = post(client, f"turns/{plan['turn_id']}/outcome", {"score": 1}, status=409)
    assert "errored" in told["detail"]


def test_prompt_may_be_left_out(client: Client) -> None:
    assert post(client, "plan", BODY)["prompt"] != ""
    assert post(client, "plan", {**BODY, "include_prompt": False})["prompt"] == ""


@pytest.mark.parametrize(
    "override",
    [{"failure_policy": "fail_closed"}, {"selection_mode": "all"}, {"kind": "tool"}],
    ids=lambda override: next(iter(override)),
)
def test_overrides_hold_where_they_are_allowed(client: Client, override: dict[str, str]) -> None:
    plan = post(client, "plan", {**BODY, **override})
    assert override.items() <= plan.items()

    with override_settings(PEGBOARD_PLAN_OVERRIDES=False):
        refused = post(client, "plan", {**BODY, **override}, status=400)

    assert refused["field"] in override


@pytest.mark.parametrize(
    ("told", "status", "score", "source", "state"),
    [
        ({"status": "success"}, "success", 1.0, "reported", "completed"),
        ({"status": "partial"}, "partial", 0.5, "reported", "completed"),
        ({"status": "failed"}, "failed", 0.0, "reported", "errored"),
        ({"score": 0.9}, "success", 0.9, "reported", "completed"),
        ({"score": 0.3}, "partial", 0.3, "reported", "completed"),
        ({"score": 0}, "failed", 0.0, "reported", "errored"),
        ({"taskSuccess": True}, "success", 1.0, "reported", "completed"),
        ({"taskSuccess": False}, "failed", 0.0, "reported", "errored"),
        ({"called": ["gmail__send_email"]}, "success", 1.0, "worked_out", "completed"),
        ({"called": ["gmail__search"]}, "partial", 0.5, "worked_out", "completed"),
        ({}, "success", 1.0, "worked_out", "completed"),
    ],
)
def test_outcome_is_told_or_worked_out(
    client: Client,
    turn: str,
    told: dict[str, Any],
    status: str,
    score: float,
    source: str,
    state: str,
) -> None:
    answer = post(client, f"turns/{turn}/outcome", {**told, "note": "as it was"})

    assert (answer["status"], answer["score"], answer["source"]) == (status, score, source)
    assert answer["state"] == state
    assert answer["window"]["samples"] == 1
    seen = get(client, f"turns/{turn}")
    assert seen["state"] == state
    assert [step["state"] for step in seen["lifecycle"]] == ["planned", state]
    assert (seen["outcome"]["status"], seen["outcome"]["note"]) == (status, "as it was")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"status": "great"}, "status"),
        ({"score": 1.5}, "score"),
        ({"score": "1"}, "score"),
        ({"score": True}, "score"),
        ({"taskSuccess": 1}, "taskSuccess"),
        ({"status": "success", "score": 1}, "score"),
        ({"called": "gmail__send_email"}, "called"),
        ({"called": ["x"] * 51}, "called"),
        ({"called": [7]}, "called.0"),
        ({"outcome": "success"}, "outcome"),
    ],
)
def test_wrong_outcome_is_refused_by_field(
    client: Client, turn: str, body: dict[str, Any], field: str
) -> None:
    answer = post(client, f"turns/{turn}/outcome", body, status=400)

    assert answer["field"] == field
    assert not Outcome.objects.exists()


def test_turn_that_went_well_after_all_has_recovered(client: Client) -> None:
    with override_settings(PEGBOARD_PLAN_BACKOFF_MS=0):
        turn = post(client, "plan", {**BODY, "message": NONSENSE})["turn_id"]

    begun = post(client, f"turns/{turn}/start")
    answer = post(client, f"turns/{turn}/outcome", {"called": ["gmail__search"]})

    assert begun["state"] == "degraded"
    assert (answer["status"], answer["called"]) == (
        "success",
        [{"full_name": "gmail__search", "selected": True}],
    )
    way = [step["state"] for step in get(client, f"turns/{turn}")["lifecycle"]]
    assert way == ["planned", "executing", "degraded", "recovered", "completed"]


def test_turn_begins_once_and_not_after_its_end(client: Client, turn: str) -> None:
    first = client.generic("POST", f"/api/v1/turns/{turn}/start").json()  # without a body
    again = post(client, f"turns/{turn}/start")
    post(client, f"turns/{turn}/outcome", {"score": 0.4})

    assert first["lifecycle"] == again["lifecycle"]
    assert first["state"] == "executing"
    assert "completed" in post(client, f"turns/{turn}/start", status=409)["detail"]
    assert "completed" in post(client, f"turns/{turn}/outcome", status=409)["detail"]
    assert Outcome.objects.get().score == 0.4


def test_hidden_and_unknown_names_are_kept_and_answered_alike(client: Client) -> None:
    answers, counts = [], []
    for name in ("payroll__pay", "no_such__tool", "wiki__delete_page"):
        turn = post(client, "plan", BODY)["turn_id"]
        with CaptureQueriesContext(connection) as statements:
            answer = post(client, f"turns/{turn}/outcome", {"called": [name, "gmail__search"]})
        answers.append({**answer, "turn_id": "", "window": None})
        counts.append(len(statements))

    assert answers[0] == answers[1] == answers[2]
    assert [call["full_name"] for call in answers[0]["called"]] == ["gmail__search"]
    assert len(set(counts)) == 1
    assert Outcome.objects.filter(called=["payroll__pay", "gmail__search"]).count() == 1


def test_what_was_taken_away_is_gone_from_old_turns(
    client: Client, people: People, turn: str
) -> None:
    post(client, f"turns/{turn}/outcome", {"called": ["gmail__send_email"]})
    before = get(client, f"turns/{turn}")

    take_away(people.gmail, people.support)

    after = get(client, f"turns/{turn}")
    assert before["selected"][0]["id"] == "tool:gmail__send_email"
    assert before["called"] == [{"full_name": "gmail__send_email", "selected": True}]
    assert (after["selected"], after["called"]) == ([], [])
    Capability.objects.all().delete()
    assert get(client, f"turns/{turn}")["called"] == []


def test_turns_are_for_those_who_may_act_for_their_user(people: People, turn: str) -> None:
    own = client_with(new_key(people.support, owner=people.alice, acts_for_users=False))
    bobs = client_with(new_key(people.support, owner=people.bob, acts_for_users=False))
    foreign = client_with(new_key(people.finance))
    unknown = "00000000-0000-4000-8000-000000000000"

    assert get(own, f"turns/{turn}")["user"] == "alice"
    for client in (bobs, foreign):
        for path in (f"turns/{turn}", f"turns/{unknown}"):
            assert "turn" not in get(client, path, status=404)["detail"].lower()
            post(client, f"{path}/start", status=404)
            post(client, f"{path}/outcome", {"score": 1}, status=404)
    people.alice.groups.clear()
    assert own.get(f"/api/v1/turns/{turn}").status_code == 401  # a key is disabled with its owner


def test_people_see_their_own_turns_and_staff_see_all(people: People, turn: str) -> None:
    statuses = []
    for person, staff in ((people.alice, False), (people.bob, False), (people.charlie, True)):
        person.is_staff = staff
        person.save()
        browser = session_of(person)
        statuses.append(browser.get(f"/api/v1/turns/{turn}").status_code)

    assert statuses == [200, 404, 200]


@pytest.mark.django_db(transaction=True)
def test_of_many_reports_at_once_one_is_taken() -> None:
    people = invite()
    row = Turn.objects.create(user=people.alice, group=people.support)
    together, ended = threading.Barrier(6), []

    def tell(score: float) -> None:
        together.wait()
        try:
            told = Turn.objects.get(pk=row.pk)
            report_outcome(turn=told, verdict=verdict_of_score(score))
        except TurnEnded as late:
            ended.append(late.state)
        finally:
            connection.close()

    threads = [threading.Thread(target=tell, args=(0.5 + n / 100,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert ended == ["completed"] * 5
    assert Outcome.objects.count() == 1


def test_looking_for_tools_is_counted_for_the_turns_own_user(
    client: Client, people: People, turn: str
) -> None:
    row = Turn.objects.get(pk=turn)
    note_discovery(row.pk, people.caller, 3)
    note_discovery(row.pk, people.caller, 0)
    note_discovery(row.pk, people.stranger, 0)

    seen = get(client, f"turns/{turn}")

    assert (seen["discovery_calls"], seen["discovery_empty"]) == (2, 1)
    # Searched, and called nothing in the end.
    assert post(client, f"turns/{turn}/outcome")["status"] == "failed"


@pytest.mark.parametrize("score", [0, 0.24, 0.25, 0.5, 0.74, 0.75, 1])
def test_score_has_the_status_nearest_to_it(score: float) -> None:
    expected = "failed" if score < 0.25 else "partial" if score < 0.75 else "success"

    assert verdict_of_score(score).status == expected
    assert infer_verdict(called=1, offered=0, searches=0).status == "partial"
