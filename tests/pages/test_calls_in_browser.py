"""The log of calls in a browser, by keyboard alone."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from catalog.models import Capability
from discovery.calls.log_stream_api import log_streams
from discovery.models import Call
from tests.factories import waiting_call
from tests.pages.conftest import sign_in
from tests.screens.looking import WIDE_AND_NARROW, show_in, troubles

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def ended(user: User, capability: Capability, *, days: int, state: str) -> Call:
    call = waiting_call(user, user.groups.get(), capability, "x")
    at = timezone.now() - timedelta(days=days)
    Call.objects.filter(pk=call.pk).update(
        state=state, needs_approval=False, created_at=at, started_at=at, ended_at=at
    )
    return call


@pytest.mark.parametrize("places", [0, 2], ids=["told", "polls"])
def test_log_that_is_followed_shows_new_calls_and_keeps_focus(
    alices_page: Page, alice: User, gmail: Capability, places: int
) -> None:
    for _ in range(places):
        log_streams.take(alice.pk)
    first = ended(alice, gmail, days=0, state="completed")
    alices_page.goto("/calls/?live=1")
    link = alices_page.locator(f"[id='call-{first.pk}']")
    link.focus()

    ended(alice, gmail, days=0, state="failed")

    expect(alices_page.get_by_text("2 calls, newest first")).to_be_visible()
    expect(link).to_be_focused()
    for _ in range(places):
        log_streams.give_back(alice.pk)


def test_person_tries_a_tool_from_its_page_through_an_approval_by_keyboard(
    page: Page, admin: User, alice: User, gmail: Capability, live_server: LiveServer
) -> None:
    sign_in(page, alice, live_server)
    page.goto("/tools/gmail__send_email/")
    page.get_by_role("link", name="Try it").focus()
    page.keyboard.press("Enter")
    page.get_by_role("textbox", name="to").focus()
    page.keyboard.type("bob")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing has been run.")).to_be_visible()
    found = []
    for width, theme in WIDE_AND_NARROW:
        show_in(page, width, theme)
        found += troubles(page)
    waiting = page.url

    sign_in(page, admin, live_server)
    page.goto("/approvals/")
    page.get_by_role("link", name="Review call").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Approve call").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("gmail__send_email was approved for alice.")).to_be_visible()
    sign_in(page, alice, live_server)
    page.goto(waiting)

    expect(page.get_by_text("completed", exact=True)).to_be_visible()
    assert Call.objects.get().arguments == {"to": "bob"}
    assert found == []
