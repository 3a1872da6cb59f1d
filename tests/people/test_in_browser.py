"""Sign-in with a code, and an invitation, in a browser."""

import re

import pytest
from django.contrib.auth.models import Group, User
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.pages.conftest import PASSWORD, sign_in
from tests.people.codes import code_of
from tests.people.conftest import SECRET

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def enter(page: Page, name: str = "alice") -> None:
    page.get_by_label("User name or e-mail").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def test_turning_codes_on_and_signing_in_with_one(page: Page, alice: User) -> None:
    page.goto("/sign-in/")
    enter(page)
    page.goto("/account/")
    page.get_by_role("link", name="Turn on").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    secret = page.locator(".secret").inner_text()
    expect(page.locator(".qr")).to_have_js_property("complete", True)
    assert page.locator(".qr").evaluate("image => image.naturalWidth") > 0
    page.get_by_label("Code").fill(code_of(secret))
    page.get_by_role("button", name="Turn on").click()
    expect(page.locator(".codes li")).to_have_count(10)
    recovery = page.locator(".codes code").first.inner_text()
    page.get_by_role("link", name="I have saved the codes").click()

    page.get_by_role("button", name="Account").click()
    page.get_by_role("button", name="Sign out").click()
    enter(page)
    page.get_by_label("Code").fill("000000")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_text("This code is wrong or has expired.")).to_be_visible()
    page.get_by_label("Code").fill(recovery)
    page.get_by_role("button", name="Sign in", exact=True).click()

    expect(page.get_by_role("heading", name="Today")).to_be_visible()


def test_codes_are_asked_for_with_the_keyboard_alone(page: Page, alice_with_codes: User) -> None:
    page.goto("/sign-in/")
    expect(page.get_by_label("User name or e-mail")).to_be_focused()
    page.keyboard.type("alice")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Code")).to_be_focused()
    page.keyboard.type(code_of(SECRET))
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="Today")).to_be_visible()


def test_inviting_accepting_and_deactivating(
    page: Page, admin: User, support: Group, live_server: LiveServer
) -> None:
    sign_in(page, admin, live_server)
    page.goto("/")
    page.get_by_role("link", name="People").click()
    page.get_by_role("link", name="Invite person").click()
    page.get_by_label("E-mail").fill("dora@example.com")
    page.get_by_label("Support").check()
    page.get_by_role("button", name="Send invitation").click()
    link = page.get_by_label("Invitation link").input_value()

    browser = page.context.browser
    assert browser is not None
    dora = browser.new_context().new_page()
    dora.goto(link)
    dora.get_by_label("Name").fill("dora")
    dora.get_by_label("Password", exact=True).fill(PASSWORD)
    dora.get_by_label("Repeat password").fill(PASSWORD)
    dora.get_by_role("button", name="Create account").click()
    expect(dora.get_by_text("Your account is ready.")).to_be_focused()

    page.goto("/people/")
    page.get_by_role("link", name="dora").click()
    page.get_by_role("link", name="Deactivate").click()
    page.get_by_role("button", name="Deactivate").click()
    expect(page.get_by_text("dora was deactivated and signed out everywhere.")).to_be_visible()
    dora.reload()
    expect(dora.get_by_label("User name or e-mail")).to_be_visible()
    dora.context.close()


def test_the_list_is_searched_while_typing(
    page: Page, admin: User, alice: User, bob: User, live_server: LiveServer
) -> None:
    sign_in(page, admin, live_server)
    page.goto("/people/")

    page.get_by_label("Search people").press_sequentially("ali")

    expect(page.get_by_text("1 person")).to_be_visible()
    expect(page.get_by_role("link", name="bob")).to_have_count(0)
    expect(page).to_have_url(re.compile("q=ali"))
