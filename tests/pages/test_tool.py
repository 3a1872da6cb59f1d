"""The page of one capability."""

from django.test import Client

from catalog.models import Capability
from tests.factories import CapabilityFactory


def test_the_page_has_description_and_parameters(as_alice: Client, gmail: Capability) -> None:
    text = as_alice.get("/tools/gmail__send_email/").content.decode()

    assert "Write an email to someone." in text
    assert "<code>to</code>" in text
    assert "Who gets it." in text


def test_a_foreign_tool_and_an_unknown_one_answer_alike(
    as_alice: Client, gmail: Capability
) -> None:
    CapabilityFactory.create(full_name="payroll__pay")

    foreign = as_alice.get("/tools/payroll__pay/")
    unknown = as_alice.get("/tools/payroll__nay/")

    assert (foreign.status_code, unknown.status_code) == (404, 404)
    assert foreign.content == unknown.content


def test_a_skill_is_shown_as_text_with_headings(as_alice: Client, gmail: Capability) -> None:
    CapabilityFactory.create(
        integration=gmail.integration, full_name="polite", kind="skill", content="# Polite\n\n*Yes*"
    )

    text = as_alice.get("/tools/polite/").content.decode()

    assert "<h3>Polite</h3>" in text
    assert "<em>Yes</em>" in text


def test_the_panel_gets_the_same_without_the_frame(as_alice: Client, gmail: Capability) -> None:
    response = as_alice.get("/tools/gmail__send_email/", headers={"HX-Request": "true"})

    assert "<html" not in response.content.decode()
    assert "Open full page" in response.content.decode()


def test_secrets_are_named_and_never_shown_twice(as_alice: Client, gmail: Capability) -> None:
    gmail.integration.required_secrets = ["GMAIL_TOKEN"]
    gmail.integration.transport = "http"
    gmail.integration.save()
    Capability.objects.update(required_secrets=["GMAIL_TOKEN"])

    text = as_alice.get("/tools/gmail__send_email/").content.decode()

    assert text.count("GMAIL_TOKEN") == 1
