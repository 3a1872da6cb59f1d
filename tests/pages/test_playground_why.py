"""Explanations of missing tools: each step that can leave one out, within rights."""

import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.models import Space
from acl.rights.caller_lookup import Caller
from catalog.models import Capability, Rule
from discovery.select.selection import SelectRequest
from discovery.select.selector import select_capabilities
from discovery.select.why_not import WhyNot, why_not
from tests.access.people import People, invite
from tests.access.ways import hide_something
from tests.factories import CapabilityFactory, lay_down

MESSAGE = "send an email to several people"


@pytest.fixture
def people(db: None) -> People:
    return invite()


def asked_why(
    people: People, name: str, *, by_admin: bool = False, caller: Caller | None = None, **asked: Any
) -> WhyNot:
    question = SelectRequest(asked.pop("message", MESSAGE), caller or people.caller, **asked)
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

    much = f"gmail__send_email: {MESSAGE} of one list, attachments are given by address"
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

    response = client.get("/", {"message": MESSAGE, "user": "alice", "why": "gmail__send_email"})

    text = " ".join(response.content.decode().split())
    assert f"A rule in {root.name} denies gmail__send_email for everyone." in text
    assert f"/access/explain/?user=alice&amp;group={people.support.pk}" in text


def test_people_are_told_nothing_of_a_rule(people: People, client: Client) -> None:
    lay_down(Rule.Effect.DENY, people.send, Space.objects.get(group=people.support))
    client.force_login(people.alice)

    client.get("/", {"message": MESSAGE})  # ends the first steps
    bodies = []
    for name in ("gmail__send_email", "gmail__no_such_tool"):
        body = client.get("/", {"message": MESSAGE, "why": name}).content.decode()
        bodies.append(body.replace(name, "NAME"))

    assert "None of your tools has this name." in bodies[0]
    assert "denies" not in bodies[0]
    first, second = map(_without_times, bodies)
    assert first == second


def test_the_next_in_line_are_offered(people: People, client: Client) -> None:
    fill(people, 3)
    CapabilityFactory.create(integration=people.payroll, description="Send an email to people.")
    client.force_login(people.alice)

    response = client.get("/", {"message": MESSAGE, "max_tools": "1"})

    missed = [one.full_name for one in response.context["side"].missed]
    assert "gmail__send_email_1" in missed
    usable = Capability.objects.usable_by(people.caller).values_list("full_name", flat=True)
    assert set(missed) <= set(usable)
    assert set(response.context["side"].competing) <= set(usable)


def test_what_is_hidden_changes_no_page(people: People, client: Client) -> None:
    client.force_login(people.alice)
    questions = [
        {},
        {"message": MESSAGE, "why": "wiki__delete_page"},
        {"message": MESSAGE, "why": "gmail__search", "output": "tiers", "max_tools": "1"},
        {"message": MESSAGE, "vs": "settings", "vs_max_tools": "1", "why": "payroll__pay"},
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
