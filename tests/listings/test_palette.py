"""The command palette: results, rights, and use by keyboard alone."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from catalog.models import Capability
from marketplace.models import Listing
from tests.factories import CapabilityFactory
from tests.pages.conftest import gmail, sign_in  # noqa: F401 - a fixture

PAGES_OF_ADMINS = ("Access", "People", "Keys", "Audit log", "Sources", "Create a key")


def test_everyone_finds_what_is_theirs(
    as_alice: Client,
    gmail: Capability,  # noqa: F811
    starter: Listing,
) -> None:
    hidden = CapabilityFactory.create(display_name="Send a wire")
    Listing.objects.create(slug="gone", title="Send slowly", vanished_at="2026-01-01T00:00Z")
    Listing.objects.create(slug="inner", title="Send inside")  # without a source: for admins only

    text = as_alice.get("/find/?q=send").content.decode()
    everything = as_alice.get("/find/").content.decode()
    by_page = as_alice.get("/find/?q=KEYS").content.decode()
    nothing = as_alice.get("/find/?q=zwiebelkuchen").content.decode()
    odd = as_alice.get("/find/?q=%E2%80%8B")

    assert 'href="/tools/gmail__send_email/"' in text
    for absent in (hidden.full_name, "Send a wire", "Send slowly", "Send inside"):
        assert absent not in text
    assert "/marketplace/listings/time/" in as_alice.get("/find/?q=time").content.decode()
    assert 'href="/tools/connections/"' in everything
    for label in PAGES_OF_ADMINS:
        assert f'"auto">{label}<' not in everything
        assert f'"auto">{label}<' not in by_page
    assert "No results" in nothing
    assert odd.status_code == 200


def test_page_found_by_a_keyword_alone_comes_after_tools(
    as_alice: Client,
    gmail: Capability,  # noqa: F811
) -> None:
    tool, account = 'href="/tools/gmail__send_email/"', '"auto">Your account<'

    by_keyword = as_alice.get("/find/?q=mail").content.decode()
    by_name = as_alice.get("/find/?q=account").content.decode()

    assert 0 < by_keyword.index(tool) < by_keyword.index(account)
    assert account in by_name
    Capability.objects.filter(pk=gmail.pk).update(display_name="Send mail by account")
    named = as_alice.get("/find/?q=account").content.decode()
    assert 0 < named.index(account) < named.index(tool)


def test_admins_find_their_pages(as_admin: Client) -> None:
    text = as_admin.get("/find/").content.decode()

    for label in PAGES_OF_ADMINS:
        assert f'"auto">{label}<' in text


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_by_keyboard_alone(
    page: Page,
    alice: User,
    gmail: Capability,  # noqa: F811
    live_server: LiveServer,
) -> None:
    sign_in(page, alice, live_server)
    page.goto("/tools/")
    field = page.get_by_role("combobox", name="Find pages, tools and listings")

    page.get_by_role("link", name="Request access").focus()
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    expect(page.get_by_role("option", name="Today")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option", name="Playground")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Request access")).to_be_focused()

    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("m")
    page.wait_for_url("**/marketplace/")  # its scripts have run
    page.keyboard.press("Control+k")
    page.keyboard.type("send mail")
    page.keyboard.press("Enter")  # before the answer arrives

    page.wait_for_url("**/tools/gmail__send_email/")
