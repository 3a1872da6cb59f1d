"""Proposed servers, as admins meet them."""

import os

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from acl.callers import Caller
from acl.models import AuditEntry
from catalog.models import Integration, ServerProposal
from catalog.services.proposals import propose_server
from marketplace.models import Installation
from tests.factories import IntegrationFactory
from tests.pages.conftest import sign_in
from tests.people.test_in_browser import LONG, troubles

pytestmark = pytest.mark.django_db
SHOTS = os.environ.get("SHOTS", "")
PATH = "/marketplace/proposals/"


@pytest.fixture
def maps(alice: User, support: Group) -> ServerProposal:
    return propose_server(
        caller=Caller(alice.pk, support.pk),
        name="Maps",
        endpoint="https://maps.example.com/mcp",
        reason="For routes.",
    )


def test_proposal_that_is_approved_is_an_installation(
    as_admin: Client, maps: ServerProposal, support: Group
) -> None:
    begun = as_admin.post(f"{PATH}{maps.pk}/", {"decision": "install", "for_group": "on"})
    again = as_admin.post(f"{PATH}{maps.pk}/", {"decision": "install"})

    installation = Installation.objects.get()
    maps.refresh_from_db()
    assert (begun.status_code, again.status_code, maps.state) == (302, 409, "approved")
    assert (installation.integration.slug, installation.integration.enabled) == ("maps", False)
    assert list(installation.groups.all()) == [support]
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["server.propose", "server.approve", "install.start"]


def test_declined_proposal_has_a_note_and_installs_nothing(
    as_admin: Client, maps: ServerProposal
) -> None:
    as_admin.post(f"{PATH}{maps.pk}/", {"decision": "decline", "note": "We have one."})

    html = as_admin.get(f"{PATH}?show=answered").content.decode()
    assert "We have one." in html
    assert not Integration.objects.exists()


def test_name_that_is_taken_leaves_the_proposal_open(
    as_admin: Client, maps: ServerProposal
) -> None:
    IntegrationFactory.create(slug="maps")

    answer = as_admin.post(f"{PATH}{maps.pk}/", {"decision": "install"})

    maps.refresh_from_db()
    assert (answer.status_code, maps.state) == (409, "open")


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_admin_finds_a_proposal_and_declines_it(
    page: Page, admin: User, maps: ServerProposal, live_server: LiveServer
) -> None:
    caller = Caller(maps.user_id, maps.group_id)
    propose_server(
        caller=caller, name=LONG, endpoint="https://x.example" + "/maps" * 50, reason=LONG * 5
    )
    sign_in(page, admin, live_server)

    found = []
    for path in (PATH, f"{PATH}?show=answered"):
        page.goto(path)
        for theme, width in (("light", 1440), ("light", 390), ("dark", 1440)):
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
            page.set_viewport_size({"width": width, "height": 900})
            found += [(path, theme, width, trouble) for trouble in troubles(page)]
            if SHOTS:
                name = "answered" if "?" in path else "open"
                page.screenshot(path=f"{SHOTS}/proposals-{name}-{theme}-{width}.png")
    page.goto("/marketplace/")
    page.get_by_role("link", name="Proposed servers").click()
    page.get_by_label("Note").first.fill("We have one.")
    page.get_by_role("button", name="Decline Maps").click()

    expect(page.get_by_text("Maps is declined.")).to_be_visible()
    assert found == []
