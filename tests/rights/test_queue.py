"""The approval queue: calls leave with their asker's right, and are limited per person."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models.functions import Now
from pytest_django.fixtures import Settings

from acl.keys.lifecycle import create_key
from acl.models import ApiKey, AuditEntry
from catalog.models import Capability
from discovery.calls.approval_queue import TooManyWaitingError
from discovery.calls.approvals import count_waiting
from discovery.calls.execution import execute
from discovery.calls.tasks import sweep
from discovery.models import Call
from tests.access.people import People, invite
from tests.factories import take_away
from tests.rights.conftest import Staff, session_of
from tests.web.conftest import client_with

KIND = "application/json"
SEND = {"name": "gmail__send_email", "arguments": {}}
Loss = Callable[[People, Staff], object]


def change(row: object, **values: object) -> None:
    type(row).objects.filter(pk=row.pk).update(**values)  # type: ignore[attr-defined]


LOSSES: dict[
    str, tuple[Loss, str, bool]
] = {  # the reason, and whether the asker still sees the tool
    "right": (lambda people, staff: take_away(people.gmail, people.support), "right_lost", True),
    "tool disabled": (
        lambda people, staff: change(people.gmail, enabled=False),
        "right_lost",
        True,
    ),
    "definition": (
        lambda people, staff: change(people.send, definition_hash="another"),
        "changed",
        True,
    ),
    "group": (lambda people, staff: people.alice.groups.clear(), "left_group", False),
    "account": (
        lambda people, staff: change(people.alice, is_active=False),
        "user_deactivated",
        False,
    ),
    "key": (
        lambda people, staff: ApiKey.objects.update(revoked_at=Now()),
        "key_revoked",
        True,
    ),
    "owner": (lambda people, staff: change(people.bob, is_active=False), "actor_deactivated", True),
}
LOSSES_OF_ACTORS: dict[str, tuple[Loss, str]] = {
    "permission": (
        lambda people, staff: staff.hugo.user_permissions.clear(),
        "acting_right_lost",
    ),
    "staff": (lambda people, staff: change(staff.hugo, is_staff=False), "acting_right_lost"),
    "account": (lambda people, staff: change(staff.hugo, is_active=False), "actor_deactivated"),
}


@pytest.fixture(autouse=True)
def _asks_first(request: pytest.FixtureRequest) -> None:
    if "people" in request.fixturenames:
        people: People = request.getfixturevalue("people")
        Capability.objects.filter(pk=people.send.pk).update(ai_access="propose")


@pytest.mark.parametrize(("lose", "reason", "told"), LOSSES.values(), ids=LOSSES)
def test_call_of_someone_who_lost_the_right_leaves_the_queue(
    people: People, staff: Staff, lose: Loss, reason: str, told: bool
) -> None:
    _, raw = create_key(
        by=None,
        name="k",
        group=people.support,
        scopes=["execute"],
        owner=people.bob,
        acts_for_users=True,
    )
    answer = client_with(raw).post("/api/v1/execute", {**SEND, "user": "alice"}, KIND)
    assert answer.status_code == 202
    admin = session_of(staff.root)
    before = (count_waiting(by=staff.root).calls, admin.get("/api/v1/approvals").json()["total"])

    lose(people, staff)

    meanwhile = (count_waiting(by=staff.root).calls, admin.get("/api/v1/approvals").json()["total"])
    call = Call.objects.get()
    assert (before, meanwhile, call.state) == ((1, 1), (0, 0), Call.State.WAITING)
    refused = admin.post(f"/api/v1/approvals/{call.pk}/approve", {"digest": "x"}, KIND)
    assert refused.status_code == 409
    sweep()
    call.refresh_from_db()
    assert (call.state, call.reason) == (Call.State.CANCELLED, reason)
    assert "was removed from the queue" in call.message
    entry = AuditEntry.objects.get(action="call.left_queue")
    assert (entry.actor_kind, entry.details["reason"]) == ("system", reason)
    if told:
        answer = session_of(people.alice).get(f"/api/v1/calls/{call.pk}")
        assert (answer.json()["status"], answer.json()["reason"]) == ("cancelled", reason)
        assert "arguments" not in answer.json()
        assert call.message in session_of(people.alice).get("/approvals/").content.decode()


@pytest.mark.parametrize(("lose", "reason"), LOSSES_OF_ACTORS.values(), ids=LOSSES_OF_ACTORS)
def test_call_leaves_with_the_right_to_act_for_others(
    people: People, staff: Staff, lose: Loss, reason: str
) -> None:
    session_of(staff.hugo).post("/api/v1/execute", {**SEND, "user": "alice"}, KIND)

    lose(people, staff)
    sweep()

    assert Call.objects.get().reason == reason


def test_call_is_told_at_once_where_the_sweeper_has_not_come_by(people: People) -> None:
    browser = session_of(people.alice)
    place = browser.post("/api/v1/execute", SEND, KIND)["Location"]

    take_away(people.gmail, people.support)

    answer = browser.get(place).json()
    assert (answer["status"], answer["reason"]) == ("cancelled", "right_lost")


def test_call_whose_right_stays_goes_on_waiting(people: People, staff: Staff) -> None:
    session_of(staff.hugo).post("/api/v1/execute", {**SEND, "user": "alice"}, KIND)
    session_of(people.alice).post("/api/v1/execute", SEND, KIND)
    everyone = Permission.objects.get(codename="act_for_others")
    people.support.permissions.add(everyone)  # hugo also has it by his group
    staff.hugo.user_permissions.clear()

    sweep()

    assert set(Call.objects.values_list("state", flat=True)) == {Call.State.WAITING}


def test_so_many_wait_and_then_it_is_told_what_to_do(
    people: People, staff: Staff, settings: Settings
) -> None:
    settings.PEGBOARD_MAX_WAITING_CALLS = 2
    browser = session_of(people.alice)
    keyed = {"Idempotency-Key": "first"}
    first = browser.post("/api/v1/execute", SEND, KIND, headers=keyed)
    browser.post("/api/v1/execute", SEND, KIND)

    refused = browser.post("/api/v1/execute", SEND, KIND)
    again = browser.post("/api/v1/execute", SEND, KIND, headers=keyed)
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "execute_tool",
            "arguments": {"name": "gmail__send_email", "arguments": {}},
        },
    }
    by_model = browser.post("/mcp", message, KIND).json()["result"]
    by_other = session_of(staff.hugo).post("/api/v1/execute", {**SEND, "user": "alice"}, KIND)
    bob = session_of(people.bob).post("/api/v1/execute", SEND, KIND)
    browser.post(f"{first['Location']}/cancel", {}, KIND)
    room = browser.post("/api/v1/execute", SEND, KIND)

    assert refused.status_code == by_other.status_code == 429
    assert "alice already has 2 calls awaiting approval" in refused.json()["detail"]
    assert again.json()["call_id"] == first.json()["call_id"]
    assert by_model["isError"]
    assert "alice already has 2 calls" in by_model["content"][0]["text"]
    assert (bob.status_code, room.status_code) == (202, 202)


def test_places_of_whoever_acts_for_many_are_counted(
    people: People, staff: Staff, settings: Settings
) -> None:
    settings.PEGBOARD_MAX_WAITING_CALLS = 1
    browser = session_of(staff.hugo)

    statuses = [
        browser.post("/api/v1/execute", {**SEND, "user": user}, KIND).status_code
        for user in ("alice", "bob")
    ]

    assert statuses == [202, 429]


@pytest.mark.django_db(transaction=True)
def test_fifty_at_once_do_not_exceed_the_places(transactional_db: None, settings: Settings) -> None:
    everyone = invite()
    Capability.objects.filter(pk=everyone.send.pk).update(ai_access="propose")
    settings.PEGBOARD_MAX_WAITING_CALLS = 7
    gate = Barrier(50, timeout=60)

    def ask() -> str:
        gate.wait()
        try:
            return execute(
                caller=everyone.caller, full_name="gmail__send_email", arguments={}
            ).status
        except TooManyWaitingError:
            return "full"
        finally:
            connection.close()

    with ThreadPoolExecutor(50) as threads:
        answers = Counter(one.result() for one in [threads.submit(ask) for _ in range(50)])

    assert answers == {"approval_needed": 7, "full": 43}
    assert Call.objects.count() == 7
