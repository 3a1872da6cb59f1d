"""MCP servers through meta-tools: usable ones by name; and proposals without secrets."""

import pytest

from acl.models import AuditEntry, Space
from catalog.models import Capability, Integration, Rule, ServerProposal
from catalog.servers import proposals
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.calls.execution import NotFoundError
from tests.access.people import People
from tests.factories import CapabilityFactory, IntegrationFactory, give, lay_down
from tests.metatools.conftest import Call

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

    assert refused.value.argument == argument
    assert value not in str(refused.value)
    assert not ServerProposal.objects.exists()


def test_no_argument_takes_a_secret(call: Call, proposing: Capability) -> None:
    with pytest.raises(ArgumentsRefusedError) as refused:
        call(REGISTER, name="Maps", endpoint=ADDRESS, api_key="abc")

    assert refused.value.argument == "api_key"


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
