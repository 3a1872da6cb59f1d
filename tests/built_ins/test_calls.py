"""Built-in tools through the door of every call: rights, own rows, approval, quotas and the log."""

from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from pytest_django.fixtures import Settings

from acl.platform.redis_circuit import redis_circuit
from acl.rights.caller_lookup import Caller
from catalog.built_ins import web_browser
from catalog.built_ins.registry import FUNCTIONS, run_built_in
from catalog.models import Capability, Memo, Todo
from catalog.readiness.obstacles import BUILT_IN_TOOLS
from catalog.registration.register import register
from catalog.servers.net.guarded_requests import fetch
from discovery.calls.approval_queue import list_waiting
from discovery.calls.execution import NotFoundError, execute
from discovery.calls.quotas import QuotaExceededError
from discovery.mcp.server.runnable_tools import listed_tools
from discovery.models import Call, Quota
from marketplace.offers.kinds.starter import starter_collection
from tests.access.people import People, invite
from tests.calls.worker import run_call
from tests.mcp.asking import ask
from tests.net.network import Names, RecordingNetwork, transport_on
from tests.sessions import session_of
from tests.web.conftest import client_with, new_key

EXAMPLES: dict[str, dict[str, Any]] = {
    "calculator": {"expression": "6 * 7"},
    "units": {"value": 1, "from_unit": "mile", "to_unit": "km"},
    "echo__echo": {"text": "hello"},
    "web-browser": {"url": "https://pages.example/plans"},
    "date-time__now": {},
    "date-time__convert": {"moment": "2026-01-01", "to_timezone": "Asia/Tokyo"},
    "date-time__difference": {"start": "2026-01-01", "end": "2026-02-01"},
    "date-time__shift": {"start": "2026-01-01", "days": 9},
    "text__count": {"text": "one two"},
    "text__compare": {"before": "a", "after": "b"},
    "text__search": {"text": "a1", "pattern": "[0-9]"},
    "text__hash": {"text": "a"},
    "text__encode": {"text": "a", "encoding": "hex"},
    "memory__search": {"query": "tea"},
    "memory__store": {"content": "Alice likes tea."},
    "memory__recall": {},
    "memory__forget": {"about": "tea"},
    "tasks__list": {},
    "tasks__create": {"title": "Water the plants"},
    "tasks__update_status": {"task_id": "none", "status": "done"},
    "tasks__edit": {"task_id": "none", "title": "x"},
    "tasks__delete": {"task_id": "none"},
}


@pytest.fixture
def people(db: None, settings: Settings) -> People:
    """Alice and bob of support, who may use the starter collection."""
    settings.PEGBOARD_CALL_WAIT_SECONDS = 0
    settings.PEGBOARD_APPROVE = "propose"
    redis_circuit.close()
    people = invite()
    Capability.objects.filter(integration__slug="gmail").delete()
    people.gmail.delete()
    register(starter_collection(), by=None, source="starter", group=people.support, send=False)
    return people


@pytest.fixture(autouse=True)
def network(monkeypatch: pytest.MonkeyPatch) -> RecordingNetwork:
    """A world with one page."""
    page = (
        b"<html><head><title>Plans</title><script>alert(1)</script></head><body><h1>Plans</h1>"
        b"<p>A seat costs <b>7</b>.</p><style>p{}</style><a href='/terms'>Terms</a></body></html>"
    )
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\n\r\n"
    network = RecordingNetwork(head.encode() + page)
    names = Names(pages_example=[["93.184.216.34"]], inside_example=[["10.0.0.7"]])

    def fetch_there(url: str, **more: Any) -> Any:
        return fetch(url, transport=transport_on(network, names), **more)

    monkeypatch.setattr(web_browser, "fetch", fetch_there)
    return network


def run(caller: Caller, name: str, **arguments: Any) -> Call:
    """Return a call after the worker."""
    done = execute(caller=caller, full_name=name, arguments=arguments)
    call = Call.objects.get(pk=done.call_id)
    run_call(call.pk)
    call.refresh_from_db()
    return call


def answer(caller: Caller, name: str, **arguments: Any) -> Any:
    call = run(caller, name, **arguments)
    assert (call.state, call.message) == ("completed", "")
    return (call.result or {})["structured"]


def caller_of(user: User, people: People) -> Caller:
    return Caller(user.pk, people.support.pk)


@pytest.mark.parametrize("name", BUILT_IN_TOOLS)
def test_every_tool_runs_by_api_and_mcp_and_is_logged(people: People, name: str) -> None:
    assert set(EXAMPLES) == set(FUNCTIONS)
    key = new_key(people.support, "execute", "discover", owner=people.alice, acts_for_users=False)
    body = {"name": name, "arguments": EXAMPLES[name]}

    by_api = client_with(key).post("/api/v1/execute", body, "application/json").json()
    by_mcp = ask(key, "tools/call", {"name": name, "arguments": EXAMPLES[name]})

    calls = Call.objects.filter(full_name=name, user=people.alice)
    assert (by_mcp.status_code, calls.count()) == (200, 2)
    asks_first = Capability.objects.get(full_name=name).ai_access == "propose"
    assert by_api["status"] == ("approval_needed" if asks_first else "running")
    if asks_first:
        assert {call.pk for call in list_waiting()} == {call.pk for call in calls}
        return
    run_call(UUID(by_api["call_id"]))
    call = calls.get(pk=by_api["call_id"])
    assert call.result_json
    assert call.state == ("failed" if "task_id" in EXAMPLES[name] else "completed")


def test_tools_are_listed_for_mcp_clients_and_tried_on_a_page(people: People) -> None:
    listed = listed_tools(people.caller)
    client = session_of(people.alice)

    page = client.get(reverse("try-tool", args=["calculator"]))
    filled = {"arg:/expression": "6*7", "run": "1"}
    tried = client.post(reverse("try-tool", args=["calculator"]), filled)

    assert set(BUILT_IN_TOOLS) <= {tool.full_name for tool in listed}
    assert (page.status_code, tried.status_code) == (200, 302)
    assert Call.objects.get(full_name="calculator").arguments["expression"] == "6*7"


def test_nobody_elses_tool_and_no_unfitting_argument_runs(people: People) -> None:
    with pytest.raises(NotFoundError):
        execute(caller=people.stranger, full_name="calculator", arguments={"expression": "1"})

    assert not Call.objects.exists()


def test_notes_and_tasks_are_one_persons(people: People) -> None:
    alice, bob = people.caller, caller_of(people.bob, people)
    stored = answer(alice, "memory__store", content="Alice likes green tea.", kind="preference")
    task = answer(alice, "tasks__create", title="Renew the passport", due="2026-06-01")

    theirs = [
        answer(bob, "memory__search", query="tea")["memories"],
        answer(bob, "memory__recall")["memories"],
        answer(bob, "tasks__list", status="all")["tasks"],
    ]
    touched = [
        run(bob, "memory__forget", memory_ids=[stored["id"]]),
        run(bob, "tasks__update_status", task_id=task["id"], status="done"),
        run(bob, "tasks__edit", task_id=task["id"], title="Mine"),
    ]
    unknown = run(bob, "tasks__edit", task_id="00000000", title="Mine")

    assert theirs == [[], [], []]
    assert [call.state for call in touched] == ["completed", "failed", "failed"]
    assert touched[2].result_json == unknown.result_json
    [found] = answer(alice, "memory__search", query="what tea")["memories"]
    assert (found["content"], found["kind"]) == ("Alice likes green tea.", "preference")
    [listed] = answer(alice, "tasks__list", query="passports passport")["tasks"]
    assert (listed["title"], listed["due"], listed["status"]) == (
        "Renew the passport", "2026-06-01", "open",
    )  # fmt: skip


def test_tasks_and_notes_live_their_life(people: People) -> None:
    alice = people.caller
    task = answer(alice, "tasks__create", title="Order toner", assignee="Ben")
    answer(alice, "tasks__edit", task_id=task["id"], due="2026-05-04", assignee="me")
    done = answer(alice, "tasks__update_status", task_id=task["id"], status="done", comment="ok")
    answer(alice, "memory__store", content="Parked on level 3", expires_on="2020-01-01")
    answer(alice, "memory__store", content="The office is closed in August")

    assert (done["due"], done["assignee"], done["notes"]) == ("2026-05-04", "me", "ok")
    assert answer(alice, "tasks__list")["tasks"] == []
    kept = answer(alice, "memory__recall")["memories"]
    assert [note["content"] for note in kept] == ["The office is closed in August"]
    assert answer(alice, "memory__forget", about="office hours")["forgotten"] == 1


def test_erasing_a_person_erases_what_their_tools_kept(people: People) -> None:
    answer(people.caller, "memory__store", content="A secret of alice")
    answer(people.caller, "tasks__create", title="A plan of alice")
    answer(caller_of(people.bob, people), "tasks__create", title="A plan of bob")

    people.alice.delete()

    assert not Memo.objects.exists()
    assert [todo.user_id for todo in Todo.objects.all()] == [people.bob.pk]


def test_who_acts_for_a_person_reads_nothing_personal(people: People) -> None:
    answer(people.caller, "memory__store", content="Alice likes tea.")

    told = run_built_in("memory__recall", {}, user_id=None)

    assert told.is_error
    assert "tea" not in told.content[0]["text"]


def test_page_is_read_as_text_and_nothing_of_our_own_network(
    people: People, network: RecordingNetwork, settings: Settings
) -> None:
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("inside.example", None), ("10.0.0.7", None))

    page = answer(people.caller, "web-browser", url="pages.example/plans", include_links=True)
    refused = [
        run(people.caller, "web-browser", url=url)
        for url in (
            "https://inside.example/",
            "http://10.0.0.7/",
            "https://localhost/",
            "file:///etc",
        )
    ]

    assert page["title"] == "Plans"
    assert page["text"].split() == ["#", "Plans", "A", "seat", "costs", "7.", "Terms"]
    assert page["links"] == ["https://pages.example/terms"]
    assert [call.reason for call in refused] == ["tool_error"] * 4
    assert {host for host, _ in network.connects} == {"93.184.216.34"}


def test_quotas_count_and_rights_are_checked_again(people: People) -> None:
    Quota.objects.create(
        user=people.alice, capability=Capability.objects.get(full_name="calculator"),
        measure="calls", hard=1,
    )  # fmt: skip
    run(people.caller, "calculator", expression="1")

    with pytest.raises(QuotaExceededError):
        execute(caller=people.caller, full_name="calculator", arguments={"expression": "1"})
    waiting = execute(caller=people.caller, full_name="text__hash", arguments={"text": "a"})
    Capability.objects.filter(full_name="text__hash").update(available=False)
    run_call(UUID(waiting.call_id))

    assert Call.objects.get(pk=waiting.call_id).state == "failed"


def test_broken_tool_leaves_an_unknown_outcome_only_where_it_writes(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Any:
        raise RuntimeError

    for name in ("calculator", "tasks__create"):
        monkeypatch.setitem(FUNCTIONS, name, broken)

    states = [
        run(people.caller, name, **EXAMPLES[name]).state for name in ("calculator", "tasks__create")
    ]

    assert states == ["failed", "unknown"]
