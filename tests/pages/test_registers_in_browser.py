"""Keys and the audit log in a browser."""

import re

import pytest
from django.contrib.auth.models import Group, User
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from acl.audit.recorder import record
from acl.keys.lifecycle import create_key, holder_of, revoke_key
from acl.models import ApiKey
from tests.pages.conftest import sign_in
from tests.screens.looking import serious

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def admins_page(page: Page, admin: User, live_server: LiveServer) -> Page:
    sign_in(page, admin, live_server)
    return page


@pytest.fixture
def kept(admin: User, support: Group) -> None:
    """Two keys, one of them revoked: with another change, four audit entries."""
    create_key(by=admin, name="Backend", group=support, scopes=["admin"])
    gone, _ = create_key(by=admin, name="Old", group=support, scopes=["admin"])
    revoke_key(by=admin, key=gone)
    record(by=None, action="x", target="something")


def test_key_is_made_copied_replaced_and_revoked(
    admins_page: Page, support: Group, live_server: LiveServer
) -> None:
    page = admins_page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=live_server.url)
    page.goto("/keys/")
    page.get_by_role("link", name="Create your first key").click()
    page.get_by_label("Name", exact=True).fill("Night reports")
    page.locator('[name=whom][value="account"]').check()
    page.get_by_label("Name of the service account").fill("reports")
    page.get_by_role("button", name="Create key").click()
    page.get_by_role("button", name="Copy key").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert serious(page) == []
    raw = str(page.evaluate("navigator.clipboard.readText()"))
    assert holder_of(raw)

    page.get_by_role("link", name="I have copied the key").click()
    expect(page.get_by_text("service account reports")).to_be_visible()
    page.get_by_role("link", name="Replace Night reports").click()
    page.get_by_label("expires").first.select_option("in an hour")
    page.get_by_role("button", name="Create new key").click()
    expect(page.locator("#raw-key")).not_to_have_text(raw)
    assert holder_of(raw)

    page.goto(f"/keys/{ApiKey.objects.earliest('pk').pk}/revoke/")
    page.get_by_role("button", name="Revoke key").click()
    expect(page.get_by_text("Night reports was revoked.")).to_be_focused()
    assert holder_of(raw) is None


def test_form_asks_only_for_what_the_choice_needs(admins_page: Page, support: Group) -> None:
    admins_page.goto("/keys/new/")

    shown = {}
    for whom in ("users", "owner", "account", "nobody"):
        admins_page.locator(f'[name=whom][value="{whom}"]').check()
        fields = ("owner", "account", "also_users")
        shown[whom] = [one for one in fields if admins_page.locator(f"[name={one}]").is_visible()]

    assert shown == {
        "users": [],
        "owner": ["owner", "also_users"],
        "account": ["account", "also_users"],
        "nobody": [],
    }


def test_log_is_filtered_and_checked_in_place(admins_page: Page, kept: None) -> None:
    page = admins_page
    page.goto("/audit/")

    page.get_by_label("Change").select_option("key.revoked")
    expect(page.locator(".entry")).to_have_count(1)
    expect(page).to_have_url(re.compile("action=key.revoked"))
    page.get_by_role("button", name="Check chain").click()

    expect(page.get_by_text("Verified just now up to entry 4")).to_be_visible()
    expect(page.locator(".entry")).to_have_count(1)
    assert serious(page) == []


def test_key_filter_swaps_the_list(admins_page: Page, kept: None) -> None:
    admins_page.goto("/keys/")

    admins_page.get_by_label("Show").select_option("Revoked")

    expect(admins_page.locator(".key")).to_have_count(1)
    expect(admins_page).to_have_url(re.compile("show=revoked"))
