"""All methods of both clients against a real Pegboard."""

import pytest
from django.contrib.auth.models import User
from pegboard_client import text_of

from catalog.models import Capability
from discovery.models import Call, Turn
from tests.access.people import People
from tests.client.conftest import Connect, meanwhile_approved

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_worker")]


def test_a_turn_from_plan_to_outcome(
    people: People, key: str, notes: Capability, connect: Connect
) -> None:
    pegboard = connect(key)

    plan = pegboard.plan("write to notes__echo", user="alice", format="openai", max_tools=3)
    begun = pegboard.start(plan["turn_id"] or "")
    call = pegboard.execute("notes__echo", {"text": "hello"}, user="alice", turn_id=plan["turn_id"])
    told = pegboard.outcome(begun["turn_id"], task_success=True, note="written")
    turn = pegboard.turn(begun["turn_id"])

    assert "notes__echo" in [tool["function"]["name"] for tool in plan["tools"] or ()]
    assert plan["selected"][0]["full_name"] == "notes__echo"
    assert (call["status"], text_of(call)) == ("completed", "1: hello")
    assert (told["status"], told["state"]) == ("success", "completed")
    assert [step["state"] for step in turn["lifecycle"]] == ["planned", "executing", "completed"]
    assert turn["called"] == [{"full_name": "notes__echo", "selected": True}]
    stored = Turn.objects.get(pk=begun["turn_id"])
    assert (stored.user, stored.outcome.note) == (people.alice, "written")
    assert str(Call.objects.get().turn_id) == plan["turn_id"]


def test_questions_about_what_there_is(people: People, key: str, connect: Connect) -> None:
    pegboard = connect(key)

    selection = pegboard.select("gmail__send_email", user="alice", history=["hello"], kind="tool")
    tiers = pegboard.discover("gmail__send_email", user="alice", tier2_top=1)
    page = pegboard.capabilities(user="alice", integration="gmail", limit=1, detail="name_only")
    one = pegboard.capability("gmail__search", user="alice", examples=True)
    tools = pegboard.meta_tools()
    found = pegboard.meta("search_tools", {"query": "send an email"}, user="alice")

    assert selection["selected"][0]["full_name"] == "gmail__send_email"
    assert "gmail__send_email" in tiers["context"]
    assert (len(page["items"]), page["total"], page["has_more"]) == (1, 2, True)
    assert (one["full_name"], one["category"]) == ("gmail__search", "search")
    assert set(tools["exploring"]) < {tool["name"] for tool in tools["tools"]}
    assert "gmail__send_email" in str(found["result"])


def test_call_that_asks_first_is_waited_for(
    root: User, key: str, ledger: Capability, connect: Connect
) -> None:
    pegboard = connect(key)

    early = pegboard.execute("ledger__echo", {"text": "one"}, user="alice")
    back = pegboard.cancel(early["call_id"])
    done = meanwhile_approved(
        root,
        lambda: pegboard.execute("ledger__echo", {"text": "two"}, user="alice", approval_wait=60),
    )

    assert (early["status"], early["arguments"]) == ("approval_needed", {"text": "one"})
    assert "expires_at" in early
    assert back["status"] == pegboard.call(early["call_id"])["status"] == "cancelled"
    assert (done["status"], text_of(done)) == ("completed", "1: two")
    assert Call.objects.get(pk=done["call_id"]).decided_by == root


def test_what_a_model_asks_for_is_done(key: str, notes: Capability, connect: Connect) -> None:
    pegboard = connect(key)
    plan = pegboard.plan("notes__echo", user="alice")
    every = pegboard.select("notes__echo", user="alice", mode="discovery")

    fine = pegboard.run_tool(plan, "notes__echo", {"text": "hello"}, user="alice")
    wrong = pegboard.run_tool(plan, "notes__echo", {"words": 1}, user="alice")
    unknown = pegboard.run_tool(plan, "notes__ech", {}, user="alice")
    searched = pegboard.run_tool(every, "search_tools", {"query": "notes"}, user="alice")
    params = {"name": "notes__echo", "arguments": {"text": "again"}}
    through = pegboard.run_tool(every, "execute_tool", params, user="alice")
    own = pegboard.run_tool(plan, "gmail__send_email", {}, user="alice")

    assert (fine.text, fine.is_error) == ("1: hello", False)
    assert (wrong.is_error, unknown.is_error) == (True, True)
    assert "words" in wrong.text
    assert "Did you mean notes__echo?" in unknown.text
    assert "notes__echo" in searched.text
    assert (through.text, through.call and through.call["tool"]) == ("2: again", "notes__echo")
    assert own.call is not None
    assert own.call["status"] == "client_executes"
    assert str(Call.objects.order_by("created_at")[0].turn_id) == plan["turn_id"]
