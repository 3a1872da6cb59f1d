"""The playground shows the selector's answers: for oneself, and for staff as anyone."""

from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client

from catalog.models import Capability
from discovery.answer.formats.registry import FORMATS
from discovery.models import Turn
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, UserFactory, give


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
