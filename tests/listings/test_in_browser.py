"""The marketplace pages in a real browser."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from acl.models import Space
from acl.people.spaces import create_space
from marketplace.installs.state import transition
from marketplace.listings.store import built_in_source
from marketplace.models import Installation, Listing
from tests.factories import GroupFactory, IntegrationFactory, ListingFactory
from tests.pages.conftest import sign_in
from tests.pages.pictures import keep_picture
from tests.screens.looking import WIDE_AND_NARROW, bring_axe, show_in, troubles

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
State = Installation.State
LONG = "Rechtsschutzversicherungsgesellschaftsbeitragsrückerstattung"


def test_pages_hold_long_names_in_every_window(
    page: Page, admin: User, starter: Listing, live_server: LiveServer
) -> None:
    failed, under_way = world(starter)
    sign_in(page, admin, live_server)
    places = {
        "marketplace": "/marketplace/",
        "marketplace-search": "/marketplace/?q=what+time+is+it+elsewhere",
        "marketplace-none": "/marketplace/?q=qwrtz+yxcvb&kind=mcp",
        "listing": "/marketplace/listings/time/",
        "listing-long": "/marketplace/listings/long/",
        "install": "/marketplace/listings/github/install/",
        "install-time": "/marketplace/listings/time/install/",
        "install-not": "/marketplace/listings/long/install/",
        "progress": f"/marketplace/installations/{under_way.public_id}/",
        "progress-failed": f"/marketplace/installations/{failed.public_id}/",
        "cancel": f"/marketplace/installations/{under_way.public_id}/cancel/",
    }

    bring_axe(page)
    found = []
    windows = WIDE_AND_NARROW
    for name, path in places.items():
        page.goto(path)
        keep_picture(page, name)
        for width, theme in windows:
            show_in(page, width, theme)
            found += [(name, width, trouble) for trouble in troubles(page)]
        windows = windows[::-1]  # the next page begins as this one ends
    show_in(page, *WIDE_AND_NARROW[0])
    Listing.objects.all().delete()
    page.goto("/marketplace/")
    keep_picture(page, "marketplace-empty")

    assert found == []
    expect(page.get_by_role("heading", name="No listings yet")).to_be_visible()


def world(time: Listing) -> tuple[Installation, Installation]:
    """A world with long and foreign names, two installations, and groups with spaces."""
    ListingFactory.create(
        slug="long",
        title=LONG,
        publisher=LONG,
        description=f"{LONG} يرسل رسالة " * 4,
        transport="stdio",
        command=["npx", "-y", f"{LONG}@latest"],
        required_secrets=[LONG.upper()[:60]],
        readme=f"# {LONG}\n\n{LONG * 5}\n\n[elsewhere](http://example.com)",
        tools=[{"name": LONG, "description": LONG * 4, "side_effect": "delete"}],
        source=built_in_source("starter"),
    )
    group = GroupFactory.create(name=LONG)
    root = Space.objects.get(group=group, parent=None)
    create_space(by=None, group=group, parent=root, name=f"Space {LONG}")
    IntegrationFactory.create(slug="git", listing="git", version="1")
    integration = IntegrationFactory.create(
        slug="fetch", title="Fetch", listing="fetch", state="pending", enabled=False
    )
    failed = Installation.objects.create(integration=integration, state=State.QUEUED)
    for state in (State.FETCHING, State.CHECKING, State.CONNECTING):
        transition(failed, state, message="Looks at it.")
    words = f"The server ended before it answered; another version may work.\nImportError {LONG}"
    transition(failed, State.FAILED, reason="crashed", message=words)
    other = IntegrationFactory.create(
        slug="everything", title=LONG, listing="everything", state="pending", enabled=False
    )
    under_way = Installation.objects.create(integration=other)
    transition(under_way, State.FETCHING, message="The launcher fetches the package.")
    transition(
        under_way, State.CHECKING, message="Looks at the command, the address and the secrets."
    )
    return failed, under_way


def test_what_is_typed_before_scripts_have_loaded_is_searched_for(
    page: Page, admin: User, starter: Listing, live_server: LiveServer
) -> None:
    sign_in(page, admin, live_server)
    held: list[Route] = []
    page.route("**/htmx*.js", lambda script: held.append(script))

    page.goto("/marketplace/", wait_until="commit")
    page.get_by_label("Search the marketplace").press_sequentially("time elsewhere")
    for script in held:
        script.continue_()

    expect(page.locator(".market-count")).to_contain_text("for “time elsewhere”")
