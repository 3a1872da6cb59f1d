"""The guard in calls: what is recorded, asked and refused, and what is forgotten."""

import json
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from acl.models import AuditEntry
from catalog.models import Capability, Integration
from discovery.calls.state import UNKNOWN_OUTCOME
from discovery.calls.tasks import sweep
from discovery.flow_guard.turn_memory import TurnMemory
from discovery.models import Call, FlowRule, TrustedValue, Turn, TurnReading
from discovery.select.selection import SelectRequest
from discovery.turns.outcomes import report_outcome
from discovery.turns.records import describe_turn, store_turn
from tests.access.people import People
from tests.factories import IntegrationFactory, UserFactory, give
from tests.flow_guard.conftest import MESSAGE, POISON, Caller, make_tool
from tests.mcp.asking import ask
from tests.web.conftest import client_with, new_key

EVE = {"to": "eve@evil.test", "text": "the sum"}
DANA = {"to": "dana@example.org", "text": "the sum"}
NO_RESULT = {"result_json": ""}


def test_recipient_of_a_page_asks_and_the_users_runs(
    call: Caller, page: Capability, mail: Capability, turn: Turn
) -> None:
    call(page, text=POISON)

    runs, asks = call(mail, **DANA), call(mail, **EVE)

    assert runs.flow is not None
    assert (runs.status, runs.flow["verdict"]) == ("running", "runs")
    assert (asks.status, asks.flow and asks.flow["cause"]) == ("approval_needed", "target")
    assert "comes from the answer of show_page, not from the message" in asks.message
    assert "ask the user for the recipient of" in asks.message
    assert Call.objects.get(pk=asks.call_id).flow == asks.flow
    assert describe_turn(turn).flow == {"judged": 2, "asked": 1, "approved": 0, "refused": 0}


@pytest.mark.parametrize(
    "failure",
    [
        {"state": "failed", "message": f"The server refused the request.\n{POISON}", **NO_RESULT},
        {"state": "unknown", "message": f"{UNKNOWN_OUTCOME}\nNo answer.\n{POISON}", **NO_RESULT},
        {"state": "failed", "result_json": json.dumps({"error": {"message": POISON}})},
        {"state": "failed", "result_json": json.dumps({"content": [{"title": POISON}]})},
    ],
    ids=["words", "unknown outcome", "error", "title"],
)
def test_recipient_of_a_failure_asks_as_one_of_an_answer(
    call: Caller, page: Capability, mail: Capability, failure: dict[str, str]
) -> None:
    failed = call(page)
    Call.objects.filter(pk=failed.call_id).update(**failure)

    runs, asks = call(mail, **DANA), call(mail, **EVE)

    assert (runs.status, asks.status) == ("running", "approval_needed")
    assert TurnReading.objects.filter(call_id=failed.call_id).exists()


def test_pegboards_own_sentence_of_a_failure_is_nothing_that_was_read(
    call: Caller, page: Capability, mail: Capability, turn: Turn
) -> None:
    failed = call(page)
    Call.objects.filter(pk=failed.call_id).update(
        state="unknown", message=f"{UNKNOWN_OUTCOME}\nThe server did not answer.", **NO_RESULT
    )

    call(mail, **DANA)

    turn.refresh_from_db()
    memory = TurnMemory(turn.pk, bytes(turn.sealed_words or b""))
    assert not memory.turn.readings[0].tokens


@pytest.mark.parametrize(("mode", "state"), [("advise", "queued"), ("refuse", "failed")])
def test_mode_decides_what_happens(
    settings: Settings, call: Caller, page: Capability, mail: Capability, mode: str, state: str
) -> None:
    settings.PEGBOARD_FLOW_GUARD = mode
    call(page, text=POISON)

    done = call(mail, **EVE)

    assert done.flow is not None
    assert (done.flow["mode"], done.flow["verdict"]) == (mode, "asks")
    assert (done.status == "failed") == (state == "failed")
    if mode == "refuse":
        assert (done.reason, "Nothing has been run" in done.message) == ("flow_refused", True)


def test_most_specific_rule_holds(
    people: People, call: Caller, page: Capability, mail: Capability, server: Integration
) -> None:
    other = make_tool(server, "post_line", "write", "reaches_outside")
    FlowRule.objects.create(group=people.support, mode="refuse")
    FlowRule.objects.create(capability=other, mode="advise")
    FlowRule.objects.create(group=people.finance, capability=mail, mode="off")
    call(page, text=POISON)

    assert call(mail, **EVE).status == "failed"
    assert call(other, **EVE).status == "running"


def test_trusted_value_runs(call: Caller, page: Capability, mail: Capability) -> None:
    TrustedValue.objects.create(value="@evil.test")
    call(page, text=POISON)

    assert call(mail, **EVE).status == "running"


def test_call_without_its_turn_asks(people: People, mail: Capability, turn: Turn) -> None:
    stranger = store_turn(SelectRequest(MESSAGE, people.caller), None)
    Turn.objects.filter(pk=stranger.pk).update(user=people.bob)
    client = client_with(new_key(people.support, "execute", owner=people.alice))

    for turn_id in (None, str(uuid4()), str(stranger.pk)):
        body = {"name": mail.full_name, "arguments": DANA, "user": "alice", "turn_id": turn_id}
        answer = post(client, "execute", body, status=202)
        assert answer["flow"]["cause"] == "no_message"


def test_refusal_is_a_403_with_the_sentence(
    people: People, settings: Settings, call: Caller, page: Capability, mail: Capability, turn: Turn
) -> None:
    settings.PEGBOARD_FLOW_GUARD = "refuse"
    call(page, text=POISON)
    client = client_with(new_key(people.support, "execute"))

    body = {"name": mail.full_name, "arguments": EVE, "user": "alice", "turn_id": str(turn.pk)}
    problem = post(client, "execute", body, status=403)

    assert "not from the message" in problem["detail"]


def test_application_tells_results_of_its_own_tools(people: People, turn: Turn) -> None:
    own = IntegrationFactory.create(slug="desk", kind="builtin")
    give(own, people.support)
    listed = make_tool(own, "show_note", "read", "returns_foreign_text")
    mail = make_tool(own, "mail", "write", "reaches_outside")
    client = client_with(new_key(people.support, "execute", "select"))
    mine = {"user": "alice", "turn_id": str(turn.pk)}
    post(client, "execute", {"name": listed.full_name, "arguments": {}, **mine})
    send = {"name": mail.full_name, "arguments": EVE, **mine}

    blind = post(client, "execute", send, status=202)["flow"]
    told = post(
        client,
        f"turns/{turn.pk}/results",
        {"results": [{"name": listed.full_name, "result": {"note": POISON}}]},
    )
    seen = post(client, "execute", send, status=202)["flow"]

    assert (blind["blind"], blind["values"][0]["source"]) == ([listed.full_name], "model")
    assert (told["told"], "blind" in seen) == (1, False)
    assert seen["values"][0] == {
        "path": "to", "value": "eve@evil.test", "source": "read", "tool": "show_note",
    }  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"results": []},
        {"results": [{"name": "x", "result": "y"}] * 21},
        {"results": [{"name": "x", "result": "y", "more": 1}]},
        {"results": [{"result": "y"}]},
    ],
)
def test_results_are_bounded_and_strict(people: People, turn: Turn, body: Any) -> None:
    client = client_with(new_key(people.support, "select"))

    post(client, f"turns/{turn.pk}/results", body, status=400)


def test_results_are_for_ones_own_turn_while_it_lasts(people: People, turn: Turn) -> None:
    body = {"results": [{"name": "nobodys__tool", "result": "x"}]}
    finance = client_with(new_key(people.finance, "select"))
    selecting = client_with(new_key(people.support, "discover"))
    support = client_with(new_key(people.support, "select"))

    post(finance, f"turns/{turn.pk}/results", body, status=404)
    post(selecting, f"turns/{turn.pk}/results", body, status=403)
    post(support, f"turns/{turn.pk}/results", body)
    report_outcome(turn=turn, verdict=None, called=(), note="")
    post(support, f"turns/{turn.pk}/results", body, status=409)


@pytest.mark.parametrize("named", [True, False])
def test_every_door_says_the_same_of_a_call(
    people: People, call: Caller, page: Capability, mail: Capability, turn: Turn, named: bool
) -> None:
    call(page, text=POISON)
    raw = new_key(people.support, "execute", owner=people.alice, acts_for_users=False)
    client, wanted = client_with(raw), {"name": mail.full_name, "arguments": EVE}
    by_rest = {"turn_id": str(turn.pk)} if named else {}
    by_mcp = {"_meta": {"pegboard/turn_id": str(turn.pk) if named else "last one"}}

    rest = post(client, "execute", {**wanted, **by_rest}, status=202)
    meta = post(client, "meta/execute_tool", {"arguments": wanted, **by_rest})["result"]
    run = {"name": "execute_tool", "arguments": wanted, **by_mcp}
    mcp_meta = ask(raw, "tools/call", run).json()["result"]["structuredContent"]
    direct = ask(raw, "tools/call", {**wanted, **by_mcp}).json()["result"]

    flow, asking = rest["flow"], Call.objects.filter(state="waiting_approval")
    assert flow["cause"] == ("target" if named else "no_message")
    assert [meta["flow"], mcp_meta["flow"], direct["_meta"]["pegboard/flow"]] == [flow] * 3
    assert meta["message"] == mcp_meta["message"] == rest["message"]
    assert direct["content"][0]["text"].startswith(rest["message"])
    assert {one.turn_id for one in asking} == {turn.pk if named else None}
    assert ("pegboard/turn_id in _meta" in flow["advice"]) is not named


def test_a_turn_of_somebody_else_is_nobodys_over_mcp(
    people: People, mail: Capability, turn: Turn
) -> None:
    Turn.objects.filter(pk=turn.pk).update(user=people.bob)
    raw = new_key(people.support, "execute", owner=people.alice, acts_for_users=False)
    named = {"_meta": {"pegboard/turn_id": str(turn.pk)}}

    answer = ask(raw, "tools/call", {"name": mail.full_name, "arguments": DANA, **named})

    assert answer.json()["result"]["_meta"]["pegboard/flow"]["cause"] == "no_message"
    assert Call.objects.get().turn_id is None


def test_memory_is_sealed_and_ends_with_the_turn(
    call: Caller, page: Capability, mail: Capability, turn: Turn
) -> None:
    call(page, text=POISON)
    call(mail, **DANA)
    stored = bytes(TurnReading.objects.get().sealed) + bytes(
        Turn.objects.get(pk=turn.pk).sealed_words or b""
    )

    report_outcome(turn=turn, verdict=None, called=(), note="")

    assert not any(word in stored for word in (b"eve", b"dana", b"show_page"))
    assert not TurnReading.objects.exists()
    assert Turn.objects.get(pk=turn.pk).sealed_words is None


def test_memory_of_an_abandoned_turn_is_swept(call: Caller, page: Capability, turn: Turn) -> None:
    call(page, text=POISON)
    call(page, text="more")
    Turn.objects.filter(pk=turn.pk).update(created_at="2020-01-01T00:00Z")

    sweep()

    assert not TurnReading.objects.exists()


def test_off_keeps_nothing(settings: Settings, people: People, mail: Capability) -> None:
    settings.PEGBOARD_FLOW_GUARD = "off"
    turn = store_turn(SelectRequest(MESSAGE, people.caller), None)
    client = client_with(new_key(people.support, "execute"))

    body = {"name": mail.full_name, "arguments": EVE, "user": "alice", "turn_id": str(turn.pk)}
    answer = post(client, "execute", body, status=202)

    assert (turn.sealed_words, "flow" in answer) == (None, False)


def test_approval_page_shows_where_a_value_came_from(
    people: People,
    client: Client,
    call: Caller,
    page: Capability,
    mail: Capability,
) -> None:
    call(page, text=POISON)
    asked = call(mail, **EVE)
    root: User = UserFactory.create(username="root", is_staff=True, groups=[people.support])
    client.force_login(root)

    shown = client.get(f"/approvals/{asked.call_id}/").content.decode()

    assert "show_page, not the message" in shown
    assert "eve@evil.test" in shown


def test_approval_page_of_a_call_without_a_turn_shows_the_reason_alone(
    people: People, client: Client, mail: Capability
) -> None:
    body = {"name": mail.full_name, "arguments": {"text": "Hello"}, "user": "alice"}
    asked = post(client_with(new_key(people.support, "execute")), "execute", body, status=202)
    client.force_login(UserFactory.create(username="root", is_staff=True, groups=[people.support]))

    shown = client.get(f"/approvals/{asked['call_id']}/").content.decode()

    assert "The data-flow guard asks about this call." in shown
    assert "Comes from" not in shown


def test_admin_changes_rules_and_values_with_an_entry(people: People, client: Client) -> None:
    root: User = UserFactory.create(username="root", is_staff=True, is_superuser=True)
    client.force_login(root)

    client.post("/admin/discovery/trustedvalue/add/", {"value": "@example.org", "note": "ours"})
    client.post("/admin/discovery/flowrule/add/", {"group": people.support.pk, "mode": "ask"})

    assert TrustedValue.objects.get().created_by == root
    assert FlowRule.objects.get().mode == "ask"
    actions = set(AuditEntry.objects.values_list("action", flat=True))
    assert {"trustedvalue.add", "flowrule.add"} <= actions


def post(client: Client, path: str, body: Any, *, status: int = 200) -> dict[str, Any]:
    answer = client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")
    assert answer.status_code == status, answer.content
    found: dict[str, Any] = answer.json()
    return found
