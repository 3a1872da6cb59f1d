"""The playground: the selector's answers, their comparison, and explanations of missing tools."""

import re
from collections.abc import Callable
from html import unescape
from random import Random
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries, Settings

from acl.models import Space
from acl.rights.caller_lookup import Caller
from catalog.models import Capability, Rule
from discovery.answer.formats.registry import FORMATS
from discovery.models import Turn
from discovery.playground._answer import compare_places, count_differences
from discovery.playground.sample_messages import CONVERSATIONS, list_samples
from discovery.select.selection import SelectRequest
from discovery.select.selector import select_capabilities
from discovery.select.why_not import WhyNot, why_not
from tests.access.people import People
from tests.access.ways import hide_something
from tests.factories import (
    CapabilityFactory,
    GroupFactory,
    IntegrationFactory,
    UserFactory,
    give,
    lay_down,
)
from tests.sessions import session_of


def test_a_message_gives_a_ranking_with_reasons(as_alice: Client, gmail: Capability) -> None:
    response = as_alice.get("/", {"message": "write an email"})

    (item,) = response.context["selection"].selected
    text = unescape(response.content.decode())
    assert "gmail__send_email" in text
    assert item.reasons
    assert all(reason in text for reason in item.reasons)


def test_without_a_message_there_are_examples(as_alice: Client, gmail: Capability) -> None:
    assert "No message yet" in _text(as_alice)


def test_small_talk_is_explained(as_alice: Client, gmail: Capability) -> None:
    assert "That is expected for small talk." in _text(as_alice, message="thanks")


def test_a_missing_model_is_told_in_words(as_alice: Client, gmail: Capability) -> None:
    response = as_alice.get("/", {"message": "write an email"})

    (problem,) = response.context["selection"].degraded
    assert problem in unescape(response.content.decode())


def test_a_wrong_number_of_tools_is_told_beside_the_field(
    as_alice: Client, gmail: Capability
) -> None:
    text = _text(as_alice, message="write an email", max_tools="0")

    assert "greater than or equal to 1" in text
    assert "No ranking yet" in text


def test_trying_a_message_stores_no_turn(as_alice: Client, gmail: Capability) -> None:
    _text(as_alice, message="write an email")

    assert not Turn.objects.exists()


def test_the_request_is_shown_for_a_shell(as_alice: Client, gmail: Capability) -> None:
    response = as_alice.get("/", {"message": "it's urgent: write an email"})

    command = response.context["output_text"]
    assert "/api/v1/select" in command
    assert """it'"'"'s urgent""" in command
    assert '"user": "alice"' in command


@pytest.mark.parametrize("output", [*FORMATS, "prompt"])
def test_every_output_names_what_was_selected(
    as_alice: Client, gmail: Capability, output: str
) -> None:
    response = as_alice.get("/", {"message": "write an email", "output": output})

    assert "gmail__send_email" in response.context["output_text"]


def test_htmx_gets_only_the_answer(as_alice: Client, gmail: Capability) -> None:
    response = as_alice.get("/", {"message": "write"}, headers={"HX-Request": "true"})

    assert "<html" not in response.content.decode()


def test_staff_may_look_as_anyone(as_admin: Client, gmail: Capability) -> None:
    _, tool = _someone_with_a_tool()

    text = _text(as_admin, message="write an email about salaries", user="charlie")

    assert tool.full_name in text
    assert "gmail__send_email" not in text


def test_nobody_else_may(as_alice: Client, gmail: Capability) -> None:
    _, tool = _someone_with_a_tool()

    text = _text(as_alice, message="write an email about salaries", user="charlie")

    assert "gmail__send_email" in text
    assert tool.full_name not in text


def test_an_unknown_caller_is_told_beside_the_field(as_admin: Client, gmail: Capability) -> None:
    text = _text(as_admin, message="write an email", user="nobody")

    assert "No active user of this name" in text


def test_staff_without_a_group_are_asked_whom_to_look_as(as_admin: Client, admin: User) -> None:
    admin.groups.clear()

    assert "You are not in a group. Choose a user." in _text(as_admin, message="write an email")


def test_names_are_completed_for_staff(as_admin: Client, alice: User) -> None:
    assert "alice" in as_admin.get("/playground/people/", {"user": "ali"}).content.decode()


def test_names_are_completed_for_nobody_else(as_alice: Client, admin: User) -> None:
    assert "root" not in as_alice.get("/playground/people/", {"user": "ro"}).content.decode()


def _someone_with_a_tool() -> tuple[User, Capability]:
    finance = GroupFactory.create(name="Finance")
    integration = IntegrationFactory.create(slug="payroll")
    give(integration, finance)
    tool = CapabilityFactory.create(
        integration=integration, description="Pay salaries and send an email."
    )
    return UserFactory.create(username="charlie", groups=[finance]), tool


def _text(client: Client, **query: str) -> str:
    response = client.get("/", query)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


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
    as_alice = session_of(alice)
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


MESSAGE_FOR_WHY = "send an email to several people"


def asked_why(
    people: People, name: str, *, by_admin: bool = False, caller: Caller | None = None, **asked: Any
) -> WhyNot:
    question = SelectRequest(
        asked.pop("message", MESSAGE_FOR_WHY), caller or people.caller, **asked
    )
    selection = select_capabilities(question)
    return why_not(request=question, selection=selection, name=name, by_admin=by_admin)


def change(row: Any, **values: Any) -> None:
    type(row).objects.filter(pk=row.pk).update(**values)


CAUSES: dict[str, Callable[[People], object]] = {
    "blocked": lambda people: change(people.send, ai_access="blocked"),
    "quarantined": lambda people: change(people.send, state="quarantined"),
    "off": lambda people: change(people.gmail, enabled=False),
    "not available": lambda people: change(people.send, available=False),
    "disconnected": lambda people: change(people.gmail, connection="disconnected"),
    "no right": lambda people: lay_down(
        Rule.Effect.DENY, people.send, Space.objects.get(group=people.support)
    ),
}
# Causes shown to a person for tools of theirs; other tools are unknown to them.
TOLD_TO_ANYBODY = {"not available", "disconnected"}


@pytest.mark.parametrize("cause", CAUSES)
def test_the_step_that_left_it_out_is_named(people: People, cause: str) -> None:
    assert asked_why(people, "gmail__send_email").cause == "selected"

    CAUSES[cause](people)

    told = asked_why(people, "gmail__send_email", by_admin=True)
    assert told.cause == cause
    assert told.rights is not None
    own = asked_why(people, "gmail__send_email")
    assert own.cause == (cause if cause in TOLD_TO_ANYBODY else "unknown")
    assert own.rights is None


def test_a_ranking_leaves_out_by_threshold_place_kind_twin_and_small_talk(people: People) -> None:
    fill(people, 12)
    CapabilityFactory.create(
        integration=people.gmail,
        action="water",
        description="Waters plants, opens windows, feeds the cat and the fish, takes out the bins, "
        "sweeps the stairs, mends bicycles, winds clocks, and can send a picture of all of it.",
    )
    same = CapabilityFactory.create(
        integration=people.gmail, action="mail", description="Send an email to several people."
    )
    change(same, fingerprint=people.send.fingerprint)

    much = f"gmail__send_email: {MESSAGE_FOR_WHY} of one list, attachments are given by address"
    least = asked_why(people, "gmail__water", message=much)
    last = asked_why(people, "gmail__send_email_11", max_tools=2)
    twin = asked_why(people, same.full_name, max_tools=20)
    kind = asked_why(people, "gmail__send_email", kind="skill")
    chat = asked_why(people, "gmail__send_email", message="thanks")

    assert least.cause == "under the threshold", least
    assert least.score is not None
    assert least.threshold is not None
    assert least.score < least.threshold
    assert last.cause == "outranked"
    assert last.place is not None
    assert last.place > 2
    assert twin.cause in {"twin", "selected"}  # either one represents both
    assert {twin.cause, asked_why(people, "gmail__send_email", max_tools=20).cause} == {
        "twin",
        "selected",
    }
    assert kind.cause == "other kind"
    assert chat.cause == "small talk"


def fill(people: People, number: int) -> None:
    """Add many tools that match the message, each slightly different."""
    for place in range(number):
        CapabilityFactory.create(
            integration=people.gmail,
            action=f"send_email_{place}",
            description=f"Send an email to several people in list {place}.",
        )


def test_what_is_not_among_the_candidates_is_looked_at_by_itself(people: People) -> None:
    told = asked_why(people, "wiki__read_page")

    assert told.cause == "too far"
    assert told.score is not None
    assert told.place is None


def test_a_foreign_name_is_answered_as_one_that_is_not_there(people: People) -> None:
    asked_why(people, "no_such__tool")  # fills the caches
    answers = []
    for name in ("payroll__pay", "no_such__tool"):
        with CaptureQueriesContext(connection) as statements:
            told = asked_why(people, name)
        answers.append((told.cause, told.sentence, told.advice, len(statements)))

    assert answers[0] == answers[1]


def test_an_admin_who_looks_as_someone_gets_the_rule(
    people: People, client: Client, django_user_model: type[User]
) -> None:
    root = Space.objects.get(group=people.support)
    lay_down(Rule.Effect.DENY, people.send, root)
    client.force_login(django_user_model.objects.create_superuser("root"))

    response = client.get(
        "/", {"message": MESSAGE_FOR_WHY, "user": "alice", "why": "gmail__send_email"}
    )

    text = " ".join(response.content.decode().split())
    assert f"A rule in {root.name} denies gmail__send_email for everyone." in text
    assert f"/access/explain/?user=alice&amp;group={people.support.pk}" in text


def test_people_are_told_nothing_of_a_rule(people: People, client: Client) -> None:
    lay_down(Rule.Effect.DENY, people.send, Space.objects.get(group=people.support))
    client.force_login(people.alice)

    client.get("/", {"message": MESSAGE_FOR_WHY})  # ends the first steps
    bodies = []
    for name in ("gmail__send_email", "gmail__no_such_tool"):
        body = client.get("/", {"message": MESSAGE_FOR_WHY, "why": name}).content.decode()
        bodies.append(body.replace(name, "NAME"))

    assert "None of your tools has this name." in bodies[0]
    assert "denies" not in bodies[0]
    first, second = map(_without_times, bodies)
    assert first == second


def test_the_next_in_line_are_offered(people: People, client: Client) -> None:
    fill(people, 3)
    CapabilityFactory.create(integration=people.payroll, description="Send an email to people.")
    client.force_login(people.alice)

    response = client.get("/", {"message": MESSAGE_FOR_WHY, "max_tools": "1"})

    missed = [one.full_name for one in response.context["side"].missed]
    assert "gmail__send_email_1" in missed
    usable = Capability.objects.usable_by(people.caller).values_list("full_name", flat=True)
    assert set(missed) <= set(usable)
    assert set(response.context["side"].competing) <= set(usable)


def test_what_is_hidden_changes_no_page(people: People, client: Client) -> None:
    client.force_login(people.alice)
    questions = [
        {},
        {"message": MESSAGE_FOR_WHY, "why": "wiki__delete_page"},
        {
            "message": MESSAGE_FOR_WHY,
            "why": "gmail__search",
            "output": "tiers",
            "max_tools": "1",
        },
        {
            "message": MESSAGE_FOR_WHY,
            "vs": "settings",
            "vs_max_tools": "1",
            "why": "payroll__pay",
        },
    ]
    for question in questions:  # fills the caches, and ends the first steps
        client.get("/", question)
    before = [_told(client, question) for question in questions]

    for number in range(12):
        hide_something(people, Random(number))
    for question in questions:
        client.get("/", question)

    assert [_told(client, question) for question in questions] == before


def _told(client: Client, question: dict[str, str]) -> tuple[str, int]:
    """Return the page without changing values, and the number of statements."""
    with CaptureQueriesContext(connection) as statements:
        body = client.get("/", question).content.decode()
    return _without_times(body), len(statements)


def _without_times(body: str) -> str:
    body = re.sub(r'csrfmiddlewaretoken" value="[^"]*"', "", body)
    body = re.sub(r"(embedding|database|ranking|reasons) [0-9.]+", "", body)
    return re.sub(r"[0-9.]+ ms", "", body)


@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.parametrize("someone", [True, False])
def test_a_row_leads_to_what_the_reader_can_do_with_it(
    as_admin: Client, admin: User, alice: User, support: Group, runs: bool, someone: bool
) -> None:
    admin.groups.add(support)
    clock = IntegrationFactory.create(
        slug="clock", kind="mcp" if runs else "builtin", transport="http" if runs else ""
    )
    give(clock, support)
    CapabilityFactory.create(
        integration=clock, action="now", display_name="Time now", description="Tell the time."
    )

    query = {"message": "tell the time now", **({"user": "alice"} if someone else {})}
    page = as_admin.get("/", query).content.decode()

    # As somebody else there is nothing to try, and what the application carries out runs not here.
    assert ('href="/tools/clock__now/try/"' in page) == (runs and not someone)
    assert ('href="/tools/clock__now/"' in page) == (not someone)


def test_examples_are_of_what_answers_here_as_long_as_anything_does(
    alice: User, support: Group
) -> None:
    caller = Caller(alice.pk, support.pk)
    for slug in ("described", "real"):
        row = IntegrationFactory.create(
            slug=slug,
            kind="builtin" if slug == "described" else "mcp",
            transport="" if slug == "described" else "http",
            source_ref={"type": "starter"},
        )
        give(row, support)
        CapabilityFactory.create(
            integration=row, action="go", category=f"c-{slug}", examples=[f"Go {slug}"]
        )
        first = list_samples(caller).messages[0]
        assert first == f"Go {slug}"
    assert "Go described" not in list_samples(caller).messages
