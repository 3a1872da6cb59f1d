"""Answers of the meta-tools: limited to the caller's rights, short, capped and paged."""

import pytest

from acl.models import Space
from catalog.models import Integration, Rule
from catalog.token_counter import estimate_tokens
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.calls.execution import NotFoundError
from discovery.mcp.answers.dispatch import ANSWERS, call_meta_tool
from discovery.metatools.registry import META_TOOLS
from discovery.models import Turn
from tests.access.people import People
from tests.factories import CapabilityFactory, IntegrationFactory, give, lay_down
from tests.metatools.conftest import Call


def test_every_tool_has_an_answer() -> None:
    assert list(ANSWERS) == list(META_TOOLS)


def test_categories_are_the_callers_own(call: Call) -> None:
    assert call("list_categories") == {
        "categories": [
            {"category": "communication", "count": 1, "names": ("gmail__send_email",)},
            {"category": "other", "count": 1, "names": ("wiki__read_page",)},
            {"category": "search", "count": 1, "names": ("gmail__search",)},
        ],
        "total": 3,
    }


def test_category_is_browsed_page_by_page(people: People, call: Call) -> None:
    for number in range(3):
        CapabilityFactory.create(integration=people.gmail, action=f"x{number}", category="search")

    first = call("browse_category", category="search", limit=3)
    last = call("browse_category", category="search", limit=3, offset=first["next_offset"])

    assert [tool["name"] for tool in first["tools"]] == ["gmail__search", "gmail__x0", "gmail__x1"]
    assert [tool["name"] for tool in last["tools"]] == ["gmail__x2"]
    assert (first["total"], first["next_offset"]) == (4, 3)
    assert "next_offset" not in last
    with pytest.raises(NotFoundError, match="Did you mean communication"):
        call("browse_category", category="comunication")


def test_search_finds_by_task_best_first(people: People, call: Call) -> None:
    lay_down(Rule.Effect.PROPOSE, people.send, Space.objects.get(group=people.support))

    found = call("search_tools", query="send an email", limit=1)

    assert [(tool["name"], tool["access"]) for tool in found["tools"]] == [
        ("gmail__send_email", "asks first")
    ]
    assert call("search_tools", query="send an email", kind="skill")["tools"] == []
    with pytest.raises(ArgumentsRefusedError, match="query"):
        call("search_tools", query=" ")


def test_search_tells_of_a_match_that_is_not_connected(people: People, call: Call) -> None:
    Integration.objects.filter(pk=people.gmail.pk).update(connection="disconnected")

    found = call("search_tools", query="send an email")

    assert found["tools"] == []
    assert found["hint"].startswith("Not connected at the moment: gmail")
    assert "gmail" not in str(call("search_tools", query="read page"))


def test_discovery_answers_with_ids_and_at_most_five(people: People, call: Call) -> None:
    for number in range(7):
        words = f"Send an email to list {number}."
        CapabilityFactory.create(integration=people.gmail, action=f"m{number}", description=words)

    found = call("discover_capabilities", query="send an email", kind="any")

    assert len(found["capabilities"]) == 5
    assert found["capabilities"][0]["id"].startswith("tool:gmail__")
    assert found["more"] >= 1
    assert estimate_tokens(found) < 500


def test_find_is_bounded_and_says_how_each_is_called(call: Call) -> None:
    found = call("tool_discovery__find", query="send an email, search, read a page", limit=2)

    assert found["count"] == len(found["tools"]) == 2
    assert {tool["access"] for tool in found["tools"]} == {"runs"}


def test_list_all_has_lines_then_names_then_counts(people: People, call: Call) -> None:
    before = call("tool_discovery__list_all")
    for number in range(100):
        CapabilityFactory.create(
            integration=people.gmail, action=f"action_{number:03}", category="planning"
        )

    everything = call("tool_discovery__list_all")
    planning = call("tool_discovery__list_all", category="planning")

    assert (before["total"], len(before["tools"])) == (3, 3)
    assert "categories" not in before
    assert (everything["total"], everything["more"]) == (103, 23)
    assert (len(everything["tools"]), len(everything["also"])) == (20, 60)
    assert everything["categories"] == {
        "communication": 1, "other": 1, "planning": 100, "search": 1,
    }  # fmt: skip
    assert planning["total"] == 100
    assert estimate_tokens(everything) < 1_600


def test_get_tool_has_the_schema_at_the_level_asked_for(people: People, call: Call) -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string", "description": "Whom."}}}
    CapabilityFactory.create(integration=people.gmail, action="new", input_schema=schema)

    full = call("get_tool", name="gmail__new")
    micro = call("get_tool", name="gmail__new", detail="micro_schema")

    assert full["input_schema"] == schema
    assert micro["micro_schema"] == {"p": {"to": "s"}}
    assert estimate_tokens(micro) < estimate_tokens(full)


def test_huge_schema_is_given_in_a_shorter_form(people: People, call: Call) -> None:
    properties = {
        f"argument_{number}": {"type": "string", "description": "What it is for. " * 20}
        for number in range(60)
    }
    schema = {"type": "object", "properties": properties}
    CapabilityFactory.create(integration=people.gmail, action="huge", input_schema=schema)

    told = call("get_tool", name="gmail__huge")

    assert "compact_schema form" in told["note"]
    assert estimate_tokens(told) < 3_000


def test_describe_says_it_in_words(people: People, call: Call) -> None:
    properties = {"to": {"type": "array", "items": {"type": "string"}, "description": "Whom."}}
    schema = {"type": "object", "properties": properties, "required": ["to"]}
    CapabilityFactory.create(
        integration=people.gmail, action="new", input_schema=schema, required_secrets=["MAIL_KEY"]
    )

    told = call("tool_discovery__describe", tool_name="gmail__new")

    assert told["parameters"] == [
        {"name": "to", "type": "list of string", "required": True, "description": "Whom."}
    ]
    assert (told["access"], told["required_secrets"]) == ("runs", ["MAIL_KEY"])


def test_named_tool_is_described_though_it_is_not_connected(people: People, call: Call) -> None:
    Integration.objects.filter(pk=people.gmail.pk).update(connection="disconnected")

    told = call("get_tool", name="gmail__send_email")

    assert told["hint"].startswith("Not connected at the moment: gmail")


@pytest.mark.parametrize("tool", ["get_tool", "execute_tool"])
def test_nearly_right_name_is_repaired_from_the_callers_own(
    people: People, call: Call, tool: str
) -> None:
    hidden = CapabilityFactory.create(integration=people.payroll, action="send_emails")

    with pytest.raises(NotFoundError) as first:
        call(tool, name="payroll__send_emails")
    hidden.delete()
    with pytest.raises(NotFoundError) as second:
        call(tool, name="payroll__send_emails")

    assert str(first.value) == str(second.value)
    assert first.value.did_you_mean == ("gmail__send_email",)


def test_unknown_argument_is_refused_by_name(call: Call) -> None:
    with pytest.raises(ArgumentsRefusedError) as refused:
        call("search_tools", query="mail", max=3)

    assert refused.value.argument == "max"


def test_asking_for_too_much_is_refused(call: Call) -> None:
    with pytest.raises(ArgumentsRefusedError, match="limit"):
        call("browse_category", category="search", limit=51)


def test_what_is_pinned_is_no_result_of_a_search(people: People, call: Call) -> None:
    builtin = IntegrationFactory.create(slug="tool_discovery", kind="builtin")
    give(builtin, people.support)
    CapabilityFactory.create(integration=builtin, action="find", pinned=True)
    CapabilityFactory.create(integration=people.gmail, action="always", pinned=True)

    found = call("search_tools", query="read page")

    assert [tool["name"] for tool in found["tools"]] == ["wiki__read_page"]


def test_search_counts_for_the_turn_that_it_names(people: People) -> None:
    turn = Turn.objects.create(user=people.alice, group=people.support)
    others = Turn.objects.create(user=people.charlie, group=people.finance)

    for query, of in (("send an email", turn), ("zzz", turn), ("send an email", others)):
        arguments = {"query": query}
        call_meta_tool(
            caller=people.caller, name="search_tools", arguments=arguments, turn_id=of.pk
        )

    turn.refresh_from_db()
    others.refresh_from_db()
    assert (turn.discovery_calls, turn.discovery_empty) == (2, 1)
    assert others.discovery_calls == 0
