"""A newcomer's path in a real browser.

From an empty board to a first selection, a key, a first call, and a completed list of first steps.
"""

import re
import subprocess

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from catalog.embedding.jobs import embed_pending
from catalog.models import Capability
from catalog.registration.embedding_models import register_configured_model
from marketplace.installs.worker import install
from marketplace.models import Installation, ListingFile
from tests.factories import ListingFactory
from tests.pages.conftest import sign_in
from tests.pages.pictures import keep_picture
from tests.screens.looking import serious

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SKILL = """---
name: expense-report
description: Write an expense report from receipts, with the totals by day.
---
Sort the receipts by day. Add them up. Write the report.
"""
MESSAGE = "write an expense report from my receipts"


@pytest.fixture
def on_offer(db: None, settings: Settings) -> None:
    """A skill in the marketplace, with nothing installed."""
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    register_configured_model()
    listing = ListingFactory.create(
        slug="expense-report", kind="skill", title="Expense report", details={"files": "1"}
    )
    ListingFile.objects.create(listing=listing, path="SKILL.md", content=SKILL.encode())


def test_a_newcomer_gets_to_the_first_selection_and_a_ticked_list(
    page: Page, admin: User, on_offer: None, live_server: LiveServer
) -> None:
    page.emulate_media(reduced_motion="reduce")
    sign_in(page, admin, live_server)
    page.goto("/")
    steps = page.get_by_role("region", name="First steps")
    expect(steps.get_by_text("0 of 4 done")).to_be_visible()
    expect(page.get_by_role("heading", name="No tools to choose from yet")).to_be_visible()
    keep_picture(page, "first-run-empty")
    found = troubles(page)

    steps.get_by_role("link", name="Install a server").click()
    install_the_skill(page)
    page.goto("/")
    expect(steps.get_by_text("1 of 4 done")).to_be_visible()

    page.get_by_role("textbox", name="Message", exact=True).press_sequentially(MESSAGE)
    expect(page.locator(".chosen-row .full-name", has_text="expense-report")).to_be_visible()
    expect(steps.get_by_text("2 of 4 done")).to_be_visible()
    keep_picture(page, "first-run-selected")
    found += troubles(page)

    with page.expect_request(lambda request: request.method == "POST"):
        page.get_by_role("textbox", name="Message", exact=True).fill(f"{MESSAGE} " * 100)
    expect(page.get_by_text("This query is too long to share as a link")).to_be_visible()
    expect(page).to_have_url(f"{live_server.url}/")

    expect(steps.get_by_role("link", name="Connect an assistant")).to_be_visible()
    page.goto("/keys/new/")
    call = make_a_key(page)
    keep_picture(page, "first-run-key")
    found += troubles(page)
    answer = subprocess.run(  # noqa: S603 - the very line that people copy
        ["/bin/sh", "-c", f"{call} --silent --max-time 60"],
        capture_output=True, text=True, check=True, timeout=90,
    )  # fmt: skip
    assert '"tokens"' in answer.stdout, answer.stdout

    page.goto("/first-steps/")
    expect(page.get_by_text("All done.")).to_be_visible()
    keep_picture(page, "first-run-done")
    found += troubles(page)
    page.goto("/")
    expect(steps).to_have_count(0)
    assert found == []


def test_without_scripts_the_playground_is_a_form(
    alices_page: Page, gmail: Capability, calendar: Capability, live_server: LiveServer
) -> None:
    browser = alices_page.context.browser
    assert browser is not None
    plain = browser.new_context(base_url=live_server.url, java_script_enabled=False)
    plain.add_cookies(alices_page.context.cookies())  # type: ignore[arg-type]
    page = plain.new_page()
    page.goto("/")

    page.get_by_role("textbox", name="Message", exact=True).fill("write an email about meetings")
    page.get_by_text("Compare", exact=True).click()
    page.get_by_role("radio", name="Other settings").check()
    page.get_by_label("Maximum tools, second answer").fill("1")
    page.get_by_role("button", name="Show tools").click()

    expect(page.get_by_role("heading", name="Side by side")).to_be_visible()
    expect(page.get_by_text("Only in the first: 1.")).to_be_visible()
    plain.close()


def install_the_skill(page: Page) -> None:
    page.get_by_role("link", name="Expense report", exact=True).click()
    page.get_by_role("link", name="Install", exact=True).click()
    page.get_by_role("checkbox", name="Support").check()
    page.get_by_role("button", name="Install").click()
    expect(page).to_have_url(re.compile("/installations/"))
    installation = Installation.objects.get()
    install(installation.pk)  # as the worker does: it waits for vectors, then goes on
    embed_pending()
    install(installation.pk)
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("is ready"))


def make_a_key(page: Page) -> str:
    page.get_by_label("Name", exact=True).fill("chat backend")
    page.get_by_role("button", name="Create key").click()
    line = page.locator("#first-call")
    expect(line).to_contain_text("/api/v1/select")
    return line.inner_text()


def troubles(page: Page) -> list[str]:
    """Return axe's serious findings and sideways scrolling, in three widths."""
    found = []
    for width, theme in ((390, "dark"), (768, "light"), (1440, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"{page.url} scrolls sideways at {width}")
    return found + serious(page)
