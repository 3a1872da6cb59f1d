"""The pages of integrations in a browser: an admin's workflow, and accessibility."""

import os
from typing import Literal

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from catalog.models import Integration, OAuthSignIn
from catalog.servers.secrets.sealed_values import values_for
from tests.integrations.conftest import CANARY
from tests.pages.conftest import sign_in
from tests.screens.looking import troubles

SHOTS = os.environ.get("SHOTS", "")
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_admin_sets_a_secret_finds_what_is_wrong_and_removes_it(
    page: Page, admin: User, mail: Integration, live_server: LiveServer
) -> None:
    sign_in(page, admin, live_server)
    page.goto("/")
    page.get_by_role("link", name="Integrations").click()
    page.get_by_label("Search integrations").press_sequentially("mai")
    page.get_by_role("link", name="Mail", exact=True).click()
    expect(page.get_by_role("img", name="1 of 2 checks passed.")).to_be_visible()
    page.get_by_label("TOKEN", exact=True).fill(CANARY)
    page.get_by_role("button", name="Save TOKEN").click()
    expect(page.get_by_text("TOKEN was saved.")).to_be_visible()
    assert CANARY not in page.content()
    assert values_for(mail) == {"TOKEN": CANARY}

    page.get_by_role("button", name="Check now").click()
    expect(page.get_by_text("A worker is checking the server.")).to_be_visible()
    mail.checks.create(milliseconds=7, tools=2)
    expect(page.get_by_role("img", name="2 of 3 checks passed.")).to_be_visible()
    page.get_by_role("link", name="Uninstall").click()
    page.get_by_label("to confirm").fill("mail")
    page.get_by_role("button", name="Uninstall for everyone").click()

    expect(page.get_by_text("Mail was uninstalled.")).to_be_visible()
    expect(page.get_by_role("heading", name="Nothing is installed yet")).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_admin_gives_a_tool_other_words(
    page: Page,
    admin: User,
    mail: Integration,
    live_server: LiveServer,
    width: int,
    scheme: Literal["dark", "light"],
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    sign_in(page, admin, live_server)
    page.goto("/integrations/mail/")
    page.get_by_text("Change Send Approved").click()
    tool = page.locator(".integration-tool", has_text="mail__send_approved")
    tool.get_by_label("Name for models").fill("post")
    tool.get_by_label("Description").fill("Sends a mail in the name of the team.")
    tool.get_by_role("button", name="Save").click()

    tool = page.locator(".integration-tool", has_text="mail__post")
    tool.get_by_text("Change", exact=False).first.click()
    expect(tool.get_by_text("Its source says:")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if SHOTS:
        tool.scroll_into_view_if_needed()
        page.screenshot(path=f"{SHOTS}/tool-words-{width}.png")


def test_person_is_told_where_they_are_sent_to_sign_in(
    page: Page, alice: User, mail: Integration, live_server: LiveServer
) -> None:
    Integration.objects.filter(pk=mail.pk).update(own_secrets=True)
    sign_in(page, alice, live_server)
    page.goto("/tools/")
    page.get_by_role("link", name="My connections").click()
    page.get_by_role("link", name="Mail", exact=True).click()
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Asking the server where to sign in")).to_be_visible()

    # The worker's part.
    OAuthSignIn.objects.update(
        state="waiting", authorization_url="https://accounts.example/authorize?client_id=x"
    )

    there = page.get_by_role("link", name="Continue to accounts.example")
    expect(there).to_be_visible()
    assert "&state=" in str(there.get_attribute("href"))
    assert troubles(page) == []
    OAuthSignIn.objects.update(
        state="failed", message="The authorization server refused the sign-in."
    )
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text(
        "The authorization server refused the sign-in."
    )
    assert troubles(page) == []
    if SHOTS:
        OAuthSignIn.objects.update(state="waiting")
        page.reload()
        page.screenshot(path=f"{SHOTS}/sign-in.png")
