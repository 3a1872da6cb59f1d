"""Fixtures of pages: people, tools, and browser windows."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

from catalog.models import Capability
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, UserFactory, give
from tests.sessions import session_of

PASSWORD = "correct horse battery"


@pytest.fixture
def support(db: None) -> Group:
    return GroupFactory.create(name="Support")


@pytest.fixture
def alice(support: Group) -> User:
    user = UserFactory.create(username="alice", groups=[support])
    user.set_password(PASSWORD)
    user.save()
    return user


@pytest.fixture
def admin(support: Group) -> User:
    user = User.objects.create_superuser("root", password=PASSWORD)
    user.groups.add(support)
    return user


@pytest.fixture
def gmail(support: Group) -> Capability:
    """A tool of the group: sending mail."""
    integration = IntegrationFactory.create(slug="gmail", title="Gmail", kind="builtin")
    give(integration, support)
    return CapabilityFactory.create(
        integration=integration,
        action="send_email",
        display_name="Send mail",
        description="Write an email to someone.",
        category="communication",
        tags=["email"],
        side_effect="write",
        ai_access="propose",
        input_schema={
            "type": "object",
            "properties": {"to": {"type": "string", "description": "Who gets it."}},
            "required": ["to"],
        },
    )


@pytest.fixture
def calendar(support: Group) -> Capability:
    """Another tool: reading the calendar."""
    integration = IntegrationFactory.create(slug="calendar", title="Calendar", kind="builtin")
    give(integration, support)
    return CapabilityFactory.create(
        integration=integration,
        action="list_events",
        display_name="List events",
        description="Show the meetings of a day.",
        category="planning",
    )


@pytest.fixture
def as_alice(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def as_admin(client: Client, admin: User) -> Client:
    client.force_login(admin)
    return client


@pytest.fixture
def page(browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    """A wide window. Violations of the policy and script errors fail the test."""
    context = browser.new_context(base_url=live_server.url, viewport={"width": 1440, "height": 900})
    context.set_default_timeout(60_000)  # an install or a model may be loading on a busy machine
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
    yield page
    context.close()
    assert [text for text in complaints if not any(each in text for each in _HARMLESS)] == []


# Besides refusals: requests aborted by a later one, or by closing the window.
# A failed one also logs htmx:sendError.
_HARMLESS = ("Failed to load resource", "htmx:sendAbort", "htmx:afterRequest")


@pytest.fixture
def alices_page(page: Page, alice: User, live_server: LiveServer) -> Page:
    """The window with alice signed in."""
    sign_in(page, alice, live_server)
    return page


def sign_in(page: Page, user: User, live_server: LiveServer) -> None:
    """Sign the user in to the window."""
    client = session_of(user)
    session = client.cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
