"""Everyday tasks work in a browser without scripts."""

from collections.abc import Iterator

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from discovery.models import Call
from marketplace.listings.search import embed_listings
from tests.pages.conftest import (
    PASSWORD,
)
from tests.screens.world import build


@pytest.fixture
def page(browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    context = browser.new_context(base_url=live_server.url, java_script_enabled=False)
    yield context.new_page()
    context.close()


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_signing_in_searching_finding_and_deciding(page: Page, settings: Settings) -> None:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    world = build()
    embed_listings()
    root = User.objects.get(pk=world.root.pk)
    root.set_password(PASSWORD)
    root.save()

    page.goto("/tools/")
    page.get_by_label("User name or e-mail").fill("root")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("My tools")

    page.get_by_label("Kind").select_option("skill")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("link", name="Polite letters")).to_be_visible()
    expect(page.get_by_role("link", name="Send mail")).to_have_count(0)

    page.get_by_role("link", name="Find").click()
    page.get_by_role("searchbox", name="Find pages, tools and listings").fill("time")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="Time Model Context Protocol").click()
    expect(page.get_by_role("link", name="Install")).to_be_visible()
    page.goto("/marketplace/")
    page.get_by_label("Search the marketplace").fill("github")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("link", name="GitHub").first).to_be_visible()

    call = Call.objects.filter(state=Call.State.WAITING).latest("pk")
    page.goto(f"/approvals/{call.pk}/")
    page.get_by_label("Reason, shown to the requester").fill("Send it to the team only.")
    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_role("status").first).to_contain_text("was rejected")
    assert Call.objects.get(pk=call.pk).state == Call.State.REJECTED
