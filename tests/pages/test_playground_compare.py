"""The playground: comparison of two answers, grounds, tiers, conversations, and links."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from catalog.models import Capability
from discovery.models import Turn
from discovery.playground._answer import compare_places, count_differences
from discovery.playground.sample_messages import CONVERSATIONS
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, UserFactory, give

MESSAGE = "write an email about meetings"
# Session, user, groups, first steps; selection, integrations, grounds; each also for the other.
# The tool that asks first in Support takes one more, for who may approve.
# One of each answer reads the icons of its integrations.
STATEMENTS = {"": 8, "settings": 12, "caller": 17}


@pytest.fixture
def sales(db: None) -> Group:
    """Another group, with a tool of its own."""
    sales = GroupFactory.create(name="Sales")
    orders = IntegrationFactory.create(slug="orders", title="Orders")
    give(orders, sales)
    CapabilityFactory.create(integration=orders, action="mail", description="Write an email.")
    return sales


def text_of(client: Client, **query: str | int) -> str:
    response = client.get("/", {"message": MESSAGE, **query})
    assert response.status_code == 200
    text = " ".join(response.content.decode().split())
    return re.sub(r'csrfmiddlewaretoken" value="[^"]*"', "", text)


def sides_of(client: Client, **query: str | int) -> list[list[str]]:
    compared = client.get("/", {"message": MESSAGE, **query}).context["compared"]
    return [[row.item.full_name for row in side.rows] for side in compared.sides]


def test_marks_tell_what_is_only_here_and_what_moved() -> None:
    first, second = ["a", "b", "c", "x"], ["new", "b", "a", "c"]

    own = compare_places(first, second)

    assert own["x"].only_here
    assert (own["a"].place, own["a"].elsewhere, own["a"].moved) == (1, 3, 1)
    assert own["b"].in_words == "1 place lower"
    assert own["c"].moved == 0
    assert compare_places(second, first)["new"].only_here
    found = count_differences(first, second)
    assert (found.only_first, found.only_second, found.moved) == (1, 1, 2)
    assert count_differences(first, first).nothing


def test_two_settings_stand_side_by_side(
    as_alice: Client, gmail: Capability, calendar: Capability
) -> None:
    one, two = sides_of(as_alice, vs="settings", vs_max_tools=1)

    assert one == ["gmail__send_email", "calendar__list_events"]
    assert two == ["gmail__send_email"]
    text = text_of(as_alice, vs="settings", vs_max_tools=1)
    assert "At most 10 tools" in text
    assert "At most 1 tools" not in text
    assert "At most 1 tool" in text
    assert "Only in the first: 1. Only in the second: 0. Moved: 0." in text
    assert "only here" in text


def test_admins_compare_any_two_callers(
    as_admin: Client, alice: User, gmail: Capability, sales: Group
) -> None:
    UserFactory.create(username="charlie", groups=[sales])

    sides = sides_of(as_admin, user="alice", vs="caller", vs_user="charlie")

    assert sides == [["gmail__send_email"], ["orders__mail"]]
    text = text_of(as_admin, user="alice", vs="caller", vs_user="charlie")
    assert "alice in Support" in text
    assert "charlie in Sales" in text


def test_others_compare_only_themselves(
    as_alice: Client, alice: User, gmail: Capability, sales: Group
) -> None:
    UserFactory.create(username="charlie", groups=[sales])
    text_of(as_alice)  # ends the first steps
    foreign = text_of(as_alice, vs="caller", vs_user="charlie", vs_group="Sales")

    alice.groups.add(sales)
    sides = sides_of(as_alice, vs="caller", vs_user="charlie", vs_group="Support")

    assert "You are not in this group or space." in foreign
    assert "orders__mail" not in foreign
    alice.groups.remove(sales)
    unknown = text_of(as_alice, vs="caller", vs_user="charlie", vs_group="Nowhere")
    assert foreign.replace("Sales", "NAME") == unknown.replace("Nowhere", "NAME")
    assert sides == [["orders__mail"], ["gmail__send_email"]]


def test_each_tool_says_what_brought_it_and_by_which_right(
    as_alice: Client, gmail: Capability, calendar: Capability
) -> None:
    CapabilityFactory.create(
        integration=gmail.integration,
        action="open_box",
        description="Unlocks.",
        required_tools=[],
    )
    CapabilityFactory.create(
        integration=gmail.integration,
        action="write_letter",
        description="Write an email with a stamp.",
        required_tools=["gmail__open_box"],
    )

    text = text_of(as_alice, message="write an email with a stamp")

    assert "because <em>Gmail</em> is granted to your group" in text
    assert "/tools/gmail__send_email/why/" in text
    assert 'required by <a href="#tool-gmail__write_letter">' in text


def test_tiers_are_told_within_their_budgets_and_keep_no_turn(
    as_alice: Client, gmail: Capability
) -> None:
    response = as_alice.get("/", {"message": MESSAGE, "output": "tiers"})

    parts = response.context["output"].parts
    assert [part.budget for part in parts] == [200, 800, 2000]
    assert all(0 < part.tokens <= part.budget for part in parts)
    assert "gmail__send_email" in response.context["output_text"]
    assert not Turn.objects.exists()


def test_a_conversation_shows_what_earlier_messages_do(as_alice: Client, gmail: Capability) -> None:
    empty = as_alice.get("/")
    said = CONVERSATIONS[1][1]
    answered = text_of(as_alice, message=said[1], history=said[0])
    alone = text_of(as_alice, message="write an email about the new office", history="hello")

    turns = empty.context["samples"].conversation
    assert [turn.message for turn in turns] == list(
        said
    )  # about an existing category: communication
    assert turns[2].history == "\n".join(said[:2])
    assert f'Read as a follow-up to: <q dir="auto">{said[0]}</q>' in answered
    assert 'aria-current="step"' in answered
    assert "This message is complete on its own" in alone


def test_without_a_tool_the_next_step_is_told(as_admin: Client) -> None:
    assert 'href="/marketplace/"' in text_of(as_admin, message="")
    assert "No tools to choose from yet" in text_of(as_admin, message="")


def test_a_link_has_the_question_and_nothing_of_the_answer(
    as_admin: Client, alice: User, gmail: Capability, settings: Settings
) -> None:
    query = {"message": MESSAGE, "user": "alice", "max_tools": "3", "output": "prompt"}

    link = as_admin.get("/", query).context["link"]

    assert {name: values[0] for name, values in parse_qs(urlsplit(link.address).query).items()} == (
        query
    )
    assert link.names_caller
    as_alice = Client()
    as_alice.force_login(alice)
    own = as_alice.get("/", {**query, "user": "root"}).context["link"]
    assert "user" not in parse_qs(urlsplit(own.address).query)
    assert not own.names_caller
    long = as_alice.post("/", {"message": "write an email " * 400, "user": "root"}).context
    assert [item.full_name for item in long["selection"].selected] == ["gmail__send_email"]
    assert long["link"].address == ""


@pytest.mark.parametrize("rows", [2, 20])
@pytest.mark.parametrize("versus", STATEMENTS)
def test_statements_do_not_depend_on_how_many_tools_there_are(
    as_alice: Client,
    alice: User,
    gmail: Capability,
    sales: Group,
    versus: str,
    rows: int,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    alice.groups.add(sales)
    for _ in range(rows):
        CapabilityFactory.create(integration=gmail.integration, description="Write an email.")
    query = {"message": MESSAGE, "vs": versus, "vs_group": "Support"}
    as_alice.get("/", query)

    with django_assert_num_queries(STATEMENTS[versus]):
        as_alice.get("/", query)
