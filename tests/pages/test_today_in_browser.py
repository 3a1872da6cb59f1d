"""Today by keyboard, with and without scripts, wide and narrow."""

import pytest
from django.contrib.auth.models import Group, User
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from acl.models import AccessRequest
from catalog.models import Capability
from discovery.models import Call
from tests.factories import IntegrationFactory, waiting_call
from tests.pages.conftest import sign_in
from tests.screens.looking import WIDE_AND_NARROW, show_in, troubles

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
