"""The pages of trust in a browser.

In a file of their own: once a browser has run, an event loop counts as running, and what a module's
fixtures write is not visible to other tests.
"""

import os

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from acl.rights.caller_lookup import Caller
from catalog.models import ServerProposal
from catalog.servers.proposals import propose_server
from tests.factories import IntegrationFactory
from tests.pages.conftest import sign_in
from tests.screens.looking import LONG, WIDE_AND_NARROW, show_in, troubles
from tests.trust.reviewed_server import POISON, READ, WRITE, World, changed

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PATH, PROPOSALS = "/integrations/notes/review/", "/marketplace/proposals/"
SHOTS = os.environ.get("SHOTS", "")


def test_admin_reads_a_difference_and_approves_it(
    page: Page, admin: User, live_server: LiveServer
) -> None:
    world = World()
    world.says(READ, WRITE, by=world.alice)
    wide = changed(
        title=LONG,
        description=f"{POISON} {LONG * 3} " + "وصف الأداة " * 20,
        inputSchema={"properties": {LONG: {"type": "string", "description": "x" * 400}}},
    )
    world.says(wide, changed(name="n" * 120, description="New."))
    IntegrationFactory.create(slug="quiet", title="Quiet")
    sign_in(page, admin, live_server)

    found = []
    for path in (PATH, "/integrations/quiet/review/"):
        page.goto(path)
        for width, theme in WIDE_AND_NARROW:
            show_in(page, width, theme)
            found += [(path, theme, width, trouble) for trouble in troubles(page)]
            if SHOTS:
                name = f"{path.strip('/').replace('/', '-')}-{theme}-{width}.png"
                page.screenshot(path=f"{SHOTS}/{name}", full_page=True)
    page.goto(PATH)
    page.get_by_role("button", name="Approve read_note").click()

    expect(page.get_by_text("read_note was approved.")).to_be_visible()
    assert found == []


def test_admin_finds_a_proposal_and_declines_it(
    page: Page, admin: User, maps: ServerProposal, live_server: LiveServer
) -> None:
    caller = Caller(maps.user_id, maps.group_id)
    propose_server(
        caller=caller, name=LONG, endpoint="https://x.example" + "/maps" * 50, reason=LONG * 5
    )
    sign_in(page, admin, live_server)

    found = []
    for path in (PROPOSALS, f"{PROPOSALS}?show=answered"):
        page.goto(path)
        for width, theme in WIDE_AND_NARROW:
            show_in(page, width, theme)
            found += [(path, theme, width, trouble) for trouble in troubles(page)]
            if SHOTS:
                name = "answered" if "?" in path else "open"
                page.screenshot(path=f"{SHOTS}/proposals-{name}-{theme}-{width}.png")
    page.goto("/marketplace/")
    page.get_by_role("link", name="Proposed servers").click()
    page.get_by_label("Note").first.fill("We have one.")
    page.get_by_role("button", name="Decline Maps").click()

    expect(page.get_by_text("Maps was declined.")).to_be_visible()
    assert found == []
