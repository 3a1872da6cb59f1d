"""Answers of the meta-tools: limited to the caller's rights, short, capped and paged."""

from typing import Any

import pytest

from acl.models import AuditEntry, Space
from catalog.models import Capability, Integration, Rule, ServerProposal
from catalog.servers import proposals
from catalog.token_counter import estimate_tokens
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.calls.execution import NotFoundError, near_names
from discovery.mcp.answers.dispatch import ANSWERS, call_meta_tool
from discovery.metatools import META_TOOLS
from discovery.models import Turn
from tests.access.people import People
from tests.answers.conftest import Call
from tests.factories import CapabilityFactory, IntegrationFactory, give, lay_down


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

    assert refused.value.defects[0][0] == "max"


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


HTTP = {"transport": "http", "endpoint": "https://mail.example/mcp"}
FAILING = {"readiness": "failing", "note": "Its server is failing."}
SECRET = {"readiness": "needs_you", "note": "It needs a secret from you."}


@pytest.mark.parametrize(
    ("server", "told"),
    [
        (HTTP, {}),
        ({**HTTP, "connection": "failing"}, FAILING),
        ({**HTTP, "required_secrets": ["KEY"], "own_secrets": True}, SECRET),
        ({}, {"readiness": "described_only"}),
    ],
)
def test_row_has_the_state_where_access_does_not_tell_it(
    people: People, call: Call, server: dict[str, Any], told: dict[str, str]
) -> None:
    Integration.objects.filter(pk=people.gmail.pk).update(**server)
    Capability.objects.filter(pk=people.send.pk).update(kind="tool", effect_confidence=1.0)

    listed = call("browse_category", category="communication")["tools"]
    found = call("search_tools", query="gmail__send_email")["tools"]

    for rows in (listed, found):
        [row] = [row for row in rows if row["name"] == "gmail__send_email"]
        assert {key: row[key] for key in ("readiness", "note") if key in row} == told


def test_what_needs_someone_is_found_after_what_works(people: People, call: Call) -> None:
    Integration.objects.filter(pk=people.gmail.pk).update(**HTTP, required_secrets=["KEY"])

    found = call("search_tools", query="gmail__send_email, wiki__read_page")["tools"]

    names = [row["name"] for row in found]
    assert names.index("wiki__read_page") < names.index("gmail__send_email")


NAMES = ("filesystem__grep", "gmail__send_email", "gmail__search_emails", "telegram", "wiki__read")


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("filesystem.grep", ("filesystem__grep",)),
        ("gmail__sendEmail", ("gmail__send_email",)),
        ("send_email", ("gmail__send_email",)),
        ("gmail__send_mails", ("gmail__send_email", "gmail__search_emails")),
        ("Telegramm", ("telegram",)),
        ("payroll__pay", ()),
        ("", ()),
        ("日本語", ()),
        ("x" * 10_000, ()),
    ],
)
def test_names_nearly_right_are_found(asked: str, near: tuple[str, ...]) -> None:
    assert near_names(asked, NAMES) == near


REGISTER = "mcp__register_server"
ADDRESS = "https://tools.example.com/mcp"


@pytest.fixture
def proposing(people: People) -> Capability:
    """Grant the capability of the starter collection to alice's group."""
    builtin = IntegrationFactory.create(slug="mcp", kind="builtin", connection="not_needed")
    give(builtin, people.support)
    return CapabilityFactory.create(integration=builtin, action="register_server")


def test_servers_are_listed_with_what_the_caller_may_use(people: People, call: Call) -> None:
    gmail, wiki = (
        {
            "server": slug,
            "title": slug.title(),
            "tools": tools,
            "status": "connected",
            "readiness": "described_only",  # the story's servers have no address
        }
        for slug, tools in (("gmail", 2), ("wiki", 1))
    )
    at_first = call("mcp__list_servers")
    Integration.objects.filter(slug__in=("wiki", "payroll")).update(connection="failing")

    now = call("mcp__list_servers")
    everything = call("mcp__list_servers", include_disconnected=True)

    assert at_first == {"servers": [gmail, wiki], "total": 2}
    assert now == {
        "servers": [gmail],
        "total": 1,
        "hint": "1 more do not answer: ask with include_disconnected.",
    }
    assert everything["servers"] == [gmail, {**wiki, "status": "failing"}]


def test_tool_is_called_by_the_names_of_its_server_and_its_own(people: People, call: Call) -> None:
    Integration.objects.filter(slug="wiki").update(title="Team Wiki")

    answers = [
        call("mcp__call_tool", server_name=server, tool_name=tool, params={"q": "x"})
        for server, tool in (("wiki", "read_page"), ("team wiki", "wiki__read_page"))
    ]

    assert {answer["tool"] for answer in answers} == {"wiki__read_page"}
    assert {answer["status"] for answer in answers} == {"client_executes"}


@pytest.mark.parametrize(
    ("server", "tool"),
    [("wikki", "read_page"), ("payroll", "pay"), ("wiki", "delete_page"), ("wiki", "read_pages")],
)
def test_what_is_not_there_and_what_is_not_ones_own_are_one_answer(
    people: People, call: Call, server: str, tool: str
) -> None:
    with pytest.raises(NotFoundError) as missing:
        call("mcp__call_tool", server_name=server, tool_name=tool)

    assert not {"payroll", "delete_page"} & set(missing.value.did_you_mean)
    assert str(missing.value).startswith(f"There is no {'tool' if server == 'wiki' else 'server'}")


@pytest.mark.usefixtures("proposing")
def test_proposal_is_a_row_and_no_server(people: People, call: Call) -> None:
    asked = {"name": "Maps", "endpoint": ADDRESS, "reason": "For routes."}

    first, again = (call(REGISTER, **asked) for _ in range(2))

    row = ServerProposal.objects.get()
    assert first == again
    assert first["status"] == "proposed"
    assert (row.name, row.state, row.user, row.group) == (
        "Maps",
        "open",
        people.alice,
        people.support,
    )
    assert AuditEntry.objects.get(action="server.propose").by == people.alice


@pytest.mark.usefixtures("proposing")
@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("endpoint", "http://tools.example.com/mcp"),
        ("endpoint", "https://127.0.0.1/mcp"),
        ("endpoint", "https://169.254.169.254/latest"),
        ("endpoint", "https://2130706433/"),
        ("endpoint", "https://user:pass@tools.example.com/mcp"),
        ("endpoint", f"{ADDRESS}?api_key=abc"),
        ("endpoint", f"{ADDRESS}?x=1"),
        ("endpoint", "https://tools.example.com/s/a8f3k2m9x7c1v5b6n4q0/mcp"),
        ("name", "Maps sk-abcdefghijklmnopqrst"),
        ("name", " \u200b "),
        ("reason", "Use the token: 9f8e7d6c5b4a3f2e"),
        ("reason", "Authorization: Bearer abc.def"),
        ("reason", "x" * 501),
    ],
)
def test_secrets_and_addresses_inside_are_refused(call: Call, argument: str, value: str) -> None:
    asked = {"name": "Maps", "endpoint": ADDRESS, "reason": "For routes."}

    with pytest.raises(ArgumentsRefusedError) as refused:
        call(REGISTER, **{**asked, argument: value})

    assert refused.value.defects[0][0] == argument
    assert value not in str(refused.value)
    assert not ServerProposal.objects.exists()


def test_no_argument_takes_a_secret(call: Call, proposing: Capability) -> None:
    with pytest.raises(ArgumentsRefusedError) as refused:
        call(REGISTER, name="Maps", endpoint=ADDRESS, api_key="abc")

    assert refused.value.defects[0][0] == "api_key"


def test_who_may_not_propose_is_told_that_there_is_no_such_tool(
    people: People, call: Call, proposing: Capability
) -> None:
    root = Space.objects.get(group=people.support, parent=None)
    lay_down(Rule.Effect.DENY, proposing, root)

    with pytest.raises(NotFoundError):
        call(REGISTER, name="Maps", endpoint=ADDRESS)


def test_proposals_of_one_person_are_bounded(
    call: Call, proposing: Capability, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "MOST_OPEN", 2)
    for number in range(2):
        call(REGISTER, name="Maps", endpoint=f"{ADDRESS}/{number}")

    with pytest.raises(ArgumentsRefusedError):
        call(REGISTER, name="Maps", endpoint=ADDRESS)

    assert ServerProposal.objects.count() == 2
