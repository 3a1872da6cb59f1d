"""Today and a newcomer's path in a browser, with and without scripts, wide and narrow."""

import re
import subprocess
from datetime import timedelta

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Group, User
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from acl.keys.lifecycle import create_key
from acl.models import AccessRequest
from catalog.embedding.jobs import embed_pending
from catalog.models import Capability, Definition
from catalog.registration.embedding_models import register_configured_model
from catalog.trust.tool_list import canonical_definition, digest_definition
from discovery.models import Call, OutcomeAlert
from marketplace.installs.worker import install
from marketplace.models import Installation, ListingFile
from tests.factories import IntegrationFactory, ListingFactory, waiting_call
from tests.pages.conftest import sign_in
from tests.pages.pictures import keep_picture
from tests.screens.looking import WIDE_AND_NARROW, serious, show_in, troubles

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_several_calls_are_approved_by_keyboard(
    page: Page, admin: User, alice: User, support: Group, gmail: Capability, live_server: LiveServer
) -> None:
    calls = [waiting_call(alice, support, gmail, f"Dear {name}") for name in ("Ada", "Bo", "Cy")]
    AccessRequest.objects.create(user=alice, group=support, wish="Book a room")
    IntegrationFactory.create(slug="slack", title="Slack", transport="http", connection="failing")
    sign_in(page, admin, live_server)
    page.goto("/tools/")

    page.keyboard.press("g")
    page.keyboard.press("d")
    expect(page.get_by_role("heading", name="Today", level=1)).to_be_visible()
    expect(page.get_by_text("Dear Ada")).to_be_visible()
    found = []
    for width, theme in WIDE_AND_NARROW:
        show_in(page, width, theme)
        found += [(width, trouble) for trouble in troubles(page)]
    assert found == []
    page.set_viewport_size({"width": 1440, "height": 900})
    page.get_by_role("link", name="Select all calls").press("Enter")
    boxes = page.get_by_role("checkbox", name="gmail__send_email for alice")
    expect(boxes.first).to_be_checked()
    boxes.last.press("Space")
    page.get_by_role("button", name="Approve selected calls").press("Enter")

    told = page.get_by_text("2 calls approved.")
    expect(told).to_be_visible()
    expect(told).to_be_focused()
    expect(page.get_by_role("link", name="Approvals 1 pending call")).to_be_visible()
    assert sorted(Call.objects.values_list("state", flat=True)) == [
        "completed", "completed", "waiting_approval",
    ]  # fmt: skip
    assert Call.objects.get(pk=calls[2].pk).state == "waiting_approval"

    page.get_by_role("checkbox", name="Book a room").press("Space")
    page.get_by_label("Reason, shown to the requesters").fill("Use the calendar.")
    page.get_by_role("button", name="Decline selected requests").press("Enter")
    expect(page.get_by_text("1 request declined.")).to_be_focused()
    assert AccessRequest.objects.get().state == "declined"


def test_everything_works_without_scripts(
    browser: Browser,
    admin: User,
    alice: User,
    support: Group,
    gmail: Capability,
    live_server: LiveServer,
) -> None:
    call = waiting_call(alice, support, gmail, "Dear Ada")
    context = browser.new_context(base_url=live_server.url, java_script_enabled=False)
    page = context.new_page()
    sign_in(page, admin, live_server)

    page.goto("/today/")
    page.get_by_role("checkbox", name="gmail__send_email for alice").check()
    page.get_by_role("button", name="Reject selected calls").click()
    expect(page.get_by_text("Give a reason, so that the requester")).to_be_visible()
    page.get_by_label("Note, shown to the requesters").fill("Not so.")
    page.get_by_role("button", name="Reject selected calls").click()

    expect(page.get_by_text("1 call rejected.")).to_be_visible()
    expect(page.get_by_text("Nothing needs you")).to_be_visible()
    assert Call.objects.get(pk=call.pk).note == "Not so."
    context.close()


def test_reviews_alerts_updates_and_keys_are_handled_by_keyboard(
    page: Page, admin: User, support: Group, live_server: LiveServer
) -> None:
    for slug in ("notes", "wiki"):
        _fill(slug)
    _alert(support)
    end = timezone.now() + timedelta(days=2)
    create_key(by=admin, name="Ends", group=support, scopes=["admin"], expires_at=end)
    sign_in(page, admin, live_server)
    page.goto("/today/")
    found = []
    for width, theme in WIDE_AND_NARROW:
        show_in(page, width, theme)
        found += [(width, trouble) for trouble in troubles(page)]
    assert found == []
    page.set_viewport_size({"width": 1440, "height": 900})

    page.get_by_role("link", name=re.compile("Select all.*To review")).press("Enter")
    expect(page.get_by_role("checkbox", name="search of Wiki")).to_be_checked()
    page.get_by_role("button", name="Approve selected definitions").press("Enter")
    expect(page.get_by_text("2 definitions approved.")).to_be_focused()
    assert set(Definition.objects.values_list("standing", flat=True)) == {"approved"}

    page.get_by_role("checkbox", name="Support").press("Space")
    page.get_by_role("button", name="Mark selected alerts as seen").press("Enter")
    expect(page.get_by_text("1 alert marked as seen.")).to_be_focused()
    page.get_by_role("button", name="Undo").press("Enter")
    expect(page.get_by_text("1 alert is back.")).to_be_focused()
    assert OutcomeAlert.objects.get().seen_at is None

    page.get_by_role("link", name=re.compile("Select all.*Updates")).press("Enter")
    expect(page.get_by_role("checkbox", name="Wiki", exact=True)).to_be_checked()
    page.get_by_role("button", name="Start selected updates").press("Enter")
    expect(page.get_by_text("2 updates started.")).to_be_focused()
    assert Installation.objects.filter(kind="update").count() == 2

    page.get_by_role("checkbox", name="Ends").press("Space")
    page.get_by_role("button", name="Replace selected keys").press("Enter")
    expect(page.get_by_text("1 key replaced.")).to_be_focused()
    expect(page.locator("[id^=raw-key-]")).to_have_text(re.compile("pb_"))
    assert troubles(page) == []


def test_buttons_that_are_swapped_in_send_by_script_as_soon_as_the_notice_has_the_focus(
    page: Page, admin: User, support: Group, live_server: LiveServer
) -> None:
    _alert(support)
    sign_in(page, admin, live_server)
    page.goto("/today/")
    page.evaluate(
        """document.addEventListener("focusin", ({ target }) => {
            if (target.matches(".notice:has(+ form [value=undo])"))
                setTimeout(() => document.querySelector("[value=undo]").click());
        })"""
    )
    page.get_by_role("checkbox", name="Support").press("Space")

    with page.expect_request(lambda request: "undo" in (request.post_data or "")) as undo:
        page.get_by_role("button", name="Mark selected alerts as seen").press("Enter")

    assert undo.value.headers.get("hx-request") == "true"
    expect(page.get_by_text("1 alert is back.")).to_be_focused()


def _alert(group: Group) -> None:
    OutcomeAlert.objects.create(
        scope="group:1", group=group, samples=9, at=timezone.now(), severity="warning",
        reason="low", threshold=0.55, value=0.3,
    )  # fmt: skip


def _fill(slug: str) -> None:
    """Create an integration with a definition to review and an update."""
    ListingFactory.create(
        slug=slug, version="2.0", transport="http", endpoint=f"https://{slug}.example/new"
    )
    row = IntegrationFactory.create(
        slug=slug, title=slug.title(), listing=slug, version="1.0", transport="http",
        endpoint=f"https://{slug}.example/old",
    )  # fmt: skip
    tool = {"name": "search", "description": "Find a page.", "inputSchema": {"type": "object"}}
    Definition.objects.create(
        integration=row, name="search", standing="new", proposed=canonical_definition(tool),
        proposed_hash=digest_definition(tool),
    )  # fmt: skip


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
    found = troubles_of_first_run_in_browser(page)

    steps.get_by_role("link", name="Install a server").click()
    install_the_skill(page)
    page.goto("/")
    expect(steps.get_by_text("1 of 4 done")).to_be_visible()

    page.get_by_role("textbox", name="Message", exact=True).press_sequentially(MESSAGE)
    expect(page.locator(".chosen-row .full-name", has_text="expense-report")).to_be_visible()
    expect(steps.get_by_text("2 of 4 done")).to_be_visible()
    keep_picture(page, "first-run-selected")
    found += troubles_of_first_run_in_browser(page)

    with page.expect_request(lambda request: request.method == "POST"):
        page.get_by_role("textbox", name="Message", exact=True).fill(f"{MESSAGE} " * 100)
    expect(page.get_by_text("This query is too long to share as a link")).to_be_visible()
    expect(page).to_have_url(f"{live_server.url}/")

    expect(steps.get_by_role("link", name="Connect an assistant")).to_be_visible()
    page.goto("/keys/new/")
    call = make_a_key(page)
    keep_picture(page, "first-run-key")
    found += troubles_of_first_run_in_browser(page)
    answer = subprocess.run(  # noqa: S603 - the very line that people copy
        ["/bin/sh", "-c", f"{call} --silent --max-time 60"],
        capture_output=True, text=True, check=True, timeout=90,
    )  # fmt: skip
    assert '"tokens"' in answer.stdout, answer.stdout

    page.goto("/first-steps/")
    expect(page.get_by_role("heading", name="See the first call")).to_be_visible()
    expect(page.get_by_text("All done.")).to_have_count(0)
    waiting_call(admin, Group.objects.get(name="Support"), Capability.objects.get(), "x")
    page.reload()
    expect(page.get_by_text("All done.")).to_be_visible()
    keep_picture(page, "first-run-done")
    found += troubles_of_first_run_in_browser(page)
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


def troubles_of_first_run_in_browser(page: Page) -> list[str]:
    """Return axe's serious findings and sideways scrolling, in three widths."""
    found = []
    for width, theme in ((390, "dark"), (768, "light"), (1440, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"{page.url} scrolls sideways at {width}")
    return found + serious(page)
