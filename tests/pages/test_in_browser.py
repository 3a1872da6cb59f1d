"""The pages in a real browser."""

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from catalog.models import Capability
from tests.factories import GroupFactory
from tests.pages.conftest import PASSWORD, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_signing_in_leads_to_my_tools(page: Page, alice: User, gmail: Capability) -> None:
    page.goto("/tools/")

    page.get_by_label("Name").fill("alice")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_role("heading", name="My tools", level=1)).to_be_visible()
    expect(page.get_by_text("because Gmail is granted to your group")).to_be_visible()


def test_my_tools_are_searched_while_typing(
    alices_page: Page, gmail: Capability, calendar: Capability
) -> None:
    alices_page.goto("/tools/")
    field = alices_page.get_by_label("Search my tools")

    field.press_sequentially("meet")

    expect(alices_page.get_by_role("link", name="Send mail")).to_have_count(0)
    expect(alices_page.get_by_role("link", name="List events")).to_be_visible()
    expect(alices_page).to_have_url(f"{_origin(alices_page)}/tools/?q=meet")
    expect(field).to_be_focused()


def test_message_typed_before_scripts_have_loaded_is_answered(
    alices_page: Page, gmail: Capability, calendar: Capability
) -> None:
    held: list[Route] = []
    alices_page.route("**/htmx*.js", lambda script: held.append(script))

    alices_page.goto("/", wait_until="commit")
    alices_page.get_by_role("textbox", name="Message", exact=True).press_sequentially("send mail")
    for script in held:
        script.continue_()

    expect(alices_page.locator(".full-name", has_text="gmail__send_email").first).to_be_visible()


@pytest.mark.parametrize("path", ["/today/", "/"])
def test_message_on_a_new_page_has_the_focus_unless_a_field_has_it(
    page: Page, admin: User, gmail: Capability, live_server: LiveServer, path: str
) -> None:
    sign_in(page, admin, live_server)
    page.goto(path)

    page.get_by_role("button", name="Hide first steps").press("Enter")

    told = page.get_by_text("The first steps are hidden.")
    expect(told).to_be_visible()
    field = page.get_by_role("textbox", name="Message", exact=True)
    expect(told if path == "/today/" else field).to_be_focused()


def test_a_category_is_chosen_within_a_search(
    alices_page: Page, gmail: Capability, calendar: Capability
) -> None:
    alices_page.goto("/tools/?q=e")

    alices_page.get_by_role("link", name="Planning").click()
    expect(alices_page).to_have_url(re.compile("category=planning"))
    alices_page.get_by_label("Search my tools").fill("ev")

    expect(alices_page).to_have_url(f"{_origin(alices_page)}/tools/?q=ev&category=planning")


def test_one_tool_opens_in_a_panel_and_gives_the_focus_back(
    alices_page: Page, gmail: Capability
) -> None:
    alices_page.goto("/tools/")
    link = alices_page.get_by_role("link", name="Send mail")

    link.press("Enter")
    expect(alices_page.get_by_role("dialog")).to_contain_text("Who gets it.")
    alices_page.keyboard.press("Escape")

    expect(alices_page.get_by_role("dialog")).to_have_count(0)
    expect(link).to_be_focused()


def test_the_ranking_follows_the_message(alices_page: Page, gmail: Capability) -> None:
    alices_page.goto("/")
    field = alices_page.get_by_label("Message", exact=True)

    field.press_sequentially("write an email")

    expect(alices_page.get_by_role("heading", name="1 tool matches")).to_be_visible()
    expect(alices_page).to_have_url(f"{_origin(alices_page)}/?message=write%20an%20email")
    expect(field).to_be_focused()


def test_an_example_starts_the_ranking(alices_page: Page, gmail: Capability) -> None:
    alices_page.goto("/")

    alices_page.get_by_role("link", name="Thanks, that was all!").click()

    expect(alices_page.get_by_role("heading", name="No tool matches")).to_be_visible()


def test_the_output_is_switched_by_keyboard(alices_page: Page, gmail: Capability) -> None:
    alices_page.goto("/?message=write%20an%20email")

    alices_page.get_by_role("radio", name="Request").focus()
    alices_page.keyboard.press("ArrowRight")

    expect(alices_page.locator("#output")).to_contain_text("Tools selected for this message")
    expect(alices_page.get_by_role("radio", name="Prompt")).to_be_focused()


def test_staff_look_as_someone_else(
    page: Page, admin: User, alice: User, gmail: Capability, live_server: LiveServer
) -> None:
    sign_in(page, admin, live_server)
    page.goto("/?message=write%20an%20email")

    page.get_by_label("User", exact=True).fill("alice")
    page.get_by_label("User", exact=True).press("Tab")

    expect(page.get_by_label("Group", exact=True)).to_contain_text("Support")
    expect(page.locator("#output")).to_contain_text('"user": "alice"')


def test_everything_can_be_reached_by_keyboard(alices_page: Page, gmail: Capability) -> None:
    alices_page.goto("/tools/")

    alices_page.keyboard.press("Tab")
    expect(alices_page.get_by_role("link", name="Skip to content")).to_be_focused()
    alices_page.keyboard.press("Enter")
    for action in ("Connect an assistant", "My connections", "Made at runtime", "Request access"):
        alices_page.keyboard.press("Tab")
        expect(alices_page.get_by_role("link", name=action)).to_be_focused()
    alices_page.keyboard.press("/")

    expect(alices_page.get_by_label("Search my tools")).to_be_focused()


def test_the_theme_is_remembered(alices_page: Page, gmail: Capability) -> None:
    alices_page.emulate_media(color_scheme="light")
    alices_page.goto("/tools/")

    alices_page.get_by_role("button", name="Theme").click()
    alices_page.get_by_role("radio", name="Dark").check()
    alices_page.goto("/")

    assert _ground(alices_page) < 0.3


def test_the_group_is_chosen_from_the_bar(alices_page: Page, alice: User) -> None:
    alice.groups.add(GroupFactory.create(name="Sales"))
    alices_page.goto("/tools/")

    alices_page.get_by_role("button", name="Group: Sales").click()
    alices_page.get_by_role("button", name="Support", exact=True).click()

    expect(alices_page.get_by_role("button", name="Group: Support")).to_be_visible()


def test_the_rail_is_a_sheet_where_it_is_narrow(alices_page: Page, gmail: Capability) -> None:
    alices_page.set_viewport_size({"width": 390, "height": 844})
    alices_page.goto("/tools/")
    expect(alices_page.get_by_role("navigation", name="Pages")).to_be_hidden()

    alices_page.get_by_role("button", name="Pages").click()
    alices_page.get_by_role("link", name="Playground").click()

    expect(alices_page.get_by_role("heading", name="Playground", level=1)).to_be_visible()


def test_signing_out_is_in_the_account_menu(alices_page: Page) -> None:
    alices_page.goto("/tools/")

    alices_page.get_by_role("button", name="Account").click()
    alices_page.get_by_role("button", name="Sign out").click()

    expect(alices_page.get_by_role("heading", name="Sign in to Pegboard")).to_be_visible()


def test_the_pages_work_without_scripts(
    alices_page: Page, gmail: Capability, calendar: Capability, live_server: LiveServer
) -> None:
    cookies = alices_page.context.cookies()
    plain = alices_page.context.browser.new_context(  # type: ignore[union-attr]
        base_url=live_server.url, java_script_enabled=False
    )
    plain.add_cookies(cookies)  # type: ignore[arg-type]
    page = plain.new_page()
    page.goto("/tools/")

    page.get_by_label("Search my tools").fill("email")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("link", name="List events")).to_have_count(0)
    page.get_by_role("link", name="Send mail").click()

    expect(page.get_by_role("heading", name="Send mail", level=1)).to_be_visible()
    plain.close()


def _origin(page: Page) -> str:
    return str(page.evaluate("location.origin"))


def _ground(page: Page) -> float:
    """Return the brightness of the page's background, from 0 to 1."""
    colour = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    return float(colour.removeprefix("oklch(").split()[0])
