"""The pages in a real browser."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Group, User
from django.db.models.functions import Now
from django.utils.http import urlencode
from drf_spectacular.generators import SchemaGenerator
from playwright.sync_api import Page, Route, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from acl.models import AuthorizationCode
from acl.oauth.client_registration import register_client
from catalog.models import Capability
from discovery.chats.model_sender import send_request
from discovery.chats.models import WantedModel, set_model
from discovery.models import Call, ModelRequest
from tests.chats.fake_models import KEY, MODEL, CallTools, FakeModel, Say, serve
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, give
from tests.pages.conftest import PASSWORD, sign_in
from tests.screens.looking import WIDE_AND_NARROW, serious, show_in, troubles
from tests.worker_parts import in_worker

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


@pytest.mark.parametrize("opener", ["Theme", "Account", "Send mail", "Find"])
def test_axe_finds_nothing_serious_in_what_opens(
    alices_page: Page, gmail: Capability, opener: str
) -> None:
    alices_page.emulate_media(reduced_motion="reduce")
    alices_page.goto("/tools/")

    alices_page.locator(f"button:has-text('{opener}'), a:has-text('{opener}')").first.click()
    alices_page.wait_for_timeout(300)

    assert serious(alices_page) == []


def test_documentation_follows_the_theme_and_leads_back(
    page: Page, live_server: LiveServer
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.goto(f"{live_server.url}/api/docs/")
    root = page.locator("html")

    _open(page, "Selection")
    expect(page.get_by_text("/api/v1/select", exact=True)).to_be_visible()
    expect(root).to_have_class("dark-mode")
    _keep(page, "dark")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.emulate_media(color_scheme="light")
    expect(root).not_to_have_class("dark-mode")
    page.evaluate("localStorage.setItem('theme', 'dark')")
    page.reload()
    expect(root).to_have_class("dark-mode")
    page.evaluate("localStorage.removeItem('theme')")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.reload()  # the address names the open section
    expect(page.get_by_text("/api/v1/select", exact=True)).to_be_visible()
    _keep(page, "light")

    page.get_by_role("banner").get_by_role("link", name="Pegboard").click()
    page.wait_for_url("**/sign-in/**")


def test_every_operation_is_in_its_section(page: Page, live_server: LiveServer) -> None:
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    counts = Counter(
        operation["tags"][0] for path in schema["paths"].values() for operation in path.values()
    )
    page.goto(f"{live_server.url}/api/docs/")

    expect(page.locator(".opblock-tag")).to_have_count(len(counts))
    for tag, count in counts.items():
        _open(page, tag)
        expect(page.locator(".opblock")).to_have_count(count)
        _open(page, tag)  # and folds it again


def _open(page: Page, section: str) -> None:
    page.locator(f"[data-tag='{section}']").click()


def _keep(page: Page, name: str) -> None:
    if folder := os.environ.get("PEGBOARD_SCREENS"):
        page.screenshot(path=Path(folder) / f"api-docs-{name}.png")


@pytest.fixture
def fake(settings: Settings, support: Group) -> Iterator[FakeModel]:
    """A fake provider's server, and a model of support's at it."""
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", None),)
    letters = IntegrationFactory.create(slug="letters", kind="builtin")
    give(letters, support)
    CapabilityFactory.create(
        integration=letters, action="polite", kind="skill", ai_access="propose",
        content="Begin with a greeting.", description="How to write a polite letter.",
    )  # fmt: skip
    with serve("anthropic") as fake:
        wanted = WantedModel(name="Fable", provider="anthropic", model_id=MODEL,
                             address=fake.address, key=KEY, groups=[support])  # fmt: skip
        set_model(by=None, values=wanted)
        yield fake


def send_all() -> None:
    """Send what is queued, as the worker does."""
    for pk in ModelRequest.objects.filter(state="queued").values_list("pk", flat=True):
        send_request(pk)


def test_a_person_chats_through_an_approval_by_keyboard(
    alices_page: Page, alice: User, fake: FakeModel
) -> None:
    fake.script = [CallTools((("letters__polite", {}),)), Say("Dear Sir or Madam")]
    page, found = alices_page, []
    page.goto("/?message=hello")
    page.get_by_role("link", name="Chat with a model").focus()
    page.keyboard.press("Enter")
    page.get_by_role("textbox", name="Message").focus()
    page.keyboard.type("write a polite letter")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")  # no comparison
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The model is being asked…")).to_be_visible()

    in_worker(send_all)
    expect(page.get_by_text("A call waits for approval.")).to_be_visible()
    for width, theme in WIDE_AND_NARROW:
        show_in(page, width, theme)
        found += troubles(page)
    Call.objects.update(state="rejected", ended_at=Now())
    expect(page.get_by_text("The model is being asked…")).to_be_visible()
    in_worker(send_all)

    expect(page.get_by_text("Dear Sir or Madam")).to_be_visible()
    assert (found, fake.refusals) == ([], [])


def test_code_is_sent_to_the_clients_own_machine(
    page: Page, alice: User, live_server: LiveServer
) -> None:
    sign_in(page, alice, live_server)
    # Another origin than the pages', which are at localhost.
    callback = live_server.url.replace("localhost", "127.0.0.1") + "/livez"
    client = register_client(name="Claude", redirect_uris=[callback])
    asked = {
        "response_type": "code", "client_id": client.client_id, "redirect_uri": callback,
        "code_challenge": "x" * 43, "code_challenge_method": "S256", "state": "s1",
    }  # fmt: skip
    page.goto(f"/oauth/authorize?{urlencode(asked)}")
    expect(page.get_by_role("heading")).to_have_text("Connect Claude?")
    assert serious(page) == []

    page.get_by_role("button", name="Connect").press("Enter")

    page.wait_for_url(f"{callback}?code=*")
    assert "state=s1" in page.url
    assert AuthorizationCode.objects.get().person == alice


def test_client_and_address_are_chosen_by_keyboard(alices_page: Page, gmail: Capability) -> None:
    page = alices_page
    gmail.integration.kind, gmail.integration.transport = "mcp", "http"
    gmail.integration.save()
    page.goto("/tools/connect/")

    page.get_by_role("link", name="Codex").press("Enter")
    expect(page.locator("#setup-text")).to_contain_text("[mcp_servers.pegboard]")
    expect(page.get_by_role("link", name="Codex")).to_be_focused()

    page.get_by_label("Tools", exact=True).select_option(label="Gmail")
    expect(page.locator("#setup-text")).to_contain_text("[mcp_servers.pegboard-gmail]")
    assert serious(page) == []
