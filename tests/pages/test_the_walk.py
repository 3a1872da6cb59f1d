"""The life of a right, in a browser: granted, explained, requested, used, revoked.

With PEGBOARD_TEST_PICTURES it takes a picture of each step (`pictures.py`).
"""

import pytest
from django.contrib.auth.models import Group, User
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from acl.models import Space
from acl.people.spaces import create_space
from catalog.models import Capability, Rule
from tests.factories import (
    CapabilityFactory,
    GroupFactory,
    IntegrationFactory,
    UserFactory,
    give,
    lay_down,
)
from tests.pages.conftest import sign_in
from tests.pages.pictures import keep_picture

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TOOLS = {
    "Calendar": ["List events", "Book a room"],
    "DeepL": ["Translate"],
    "Figma": ["Export a frame"],
    "GitHub": ["Search code", "Open an issue", "Review a change"],
    "Gmail": ["Send mail", "Search mail", "Label mail"],
    "Jira": ["Search tickets", "Open a ticket"],
    "Maps": ["Plan a way"],
    "Notion": ["Read a page", "Write a page"],
    "Payroll": ["Pay salaries"],
    "Slack": ["Post a message", "Read a channel"],
}
GROUPS = ("Engineering", "Finance", "Interns", "Legal", "Marketing", "Sales")


@pytest.fixture
def office(support: Group, alice: User) -> dict[str, Space]:
    """A small organisation: Support has Gmail, Slack and some rules, Marketing is open."""
    integrations = {}
    for title, names in TOOLS.items():
        slug = title.lower()
        kept = IntegrationFactory.create(slug=slug, title=title, kind="builtin")
        integrations[slug] = kept
        for name in names:
            action = name.lower().replace(" ", "_")
            CapabilityFactory.create(integration=kept, action=action, display_name=name)
    groups = {name: GroupFactory.create(name=name, open=name == "Marketing") for name in GROUPS}
    for place, group in enumerate(groups.values()):
        for number in range(place + 1):
            UserFactory.create(username=f"{group.name.lower()}-{number}", groups=[group])
    given = {"gmail": (support, groups["Sales"]), "slack": (support,), "deepl": (support,)}
    given |= {"github": (groups["Engineering"],), "payroll": (groups["Finance"],)}
    for slug, holders in given.items():
        for holder in holders:
            give(integrations[slug], holder)
    for slug, values in {"figma": {"enabled": False}, "payroll": {"restricted": True}}.items():
        type(integrations[slug]).objects.filter(slug=slug).update(**values)
    return _spaces(support)


def _spaces(support: Group) -> dict[str, Space]:
    """Create nested spaces, each with a rule about Gmail that overrides its parent's."""
    root = Space.objects.get(group=support, parent=None)
    second = create_space(by=None, group=support, parent=root, name="Second level")
    lisbon = create_space(by=None, group=support, parent=second, name="Project Lisbon")
    send = Capability.objects.select_related("integration").get(full_name="gmail__send_mail")
    lay_down(Rule.Effect.DENY, send, root)
    lay_down(Rule.Effect.DENY, send.integration, second)
    lay_down(Rule.Effect.ALLOW, send.integration, lisbon)
    return {"root": root, "second": second, "lisbon": lisbon}


def as_someone(page: Page, user: User, live_server: LiveServer, path: str) -> None:
    page.context.clear_cookies()
    sign_in(page, user, live_server)
    page.goto(path)


def test_from_a_wish_to_a_right_and_back(
    page: Page, admin: User, alice: User, office: dict[str, Space], live_server: LiveServer
) -> None:
    page.emulate_media(reduced_motion="reduce")
    as_someone(page, admin, live_server, "/access/")
    grant_by_the_matrix(page)
    see_why(page, office["lisbon"])
    write_a_rule(page, office["second"])

    as_someone(page, alice, live_server, "/tools/")
    ask_for_more(page)
    as_someone(page, admin, live_server, "/")
    answer_the_request(page)
    as_someone(page, alice, live_server, "/tools/")
    find_what_was_asked_for(page)

    as_someone(page, admin, live_server, "/access/")
    take_it_back(page)
    as_someone(page, alice, live_server, "/tools/")
    expect(page.get_by_role("link", name="Search tickets")).to_have_count(0)
    page.goto("/tools/jira__search_tickets/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")


def grant_by_the_matrix(page: Page) -> None:
    page.get_by_role("checkbox", name="Grant Jira to Support").check()
    expect(page.get_by_text("1 unsaved change")).to_be_visible()
    keep_picture(page, "access-matrix")
    page.get_by_role("button", name="Review changes").click()
    gains = page.get_by_role("region", name="Gains access")
    expect(gains).to_contain_text("alice")
    expect(gains).to_contain_text("jira__search_tickets")
    keep_picture(page, "access-look")
    page.get_by_role("button", name="Save 1 change").click()
    expect(page.get_by_text("1 change saved")).to_be_visible()


def see_why(page: Page, lisbon: Space) -> None:
    page.get_by_role("link", name="Explain").click()
    page.get_by_label("Person", exact=True).fill("alice")
    page.get_by_label("Tool", exact=True).fill("jira__search_tickets")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("heading", name="Yes, your application carries it out")).to_be_visible()
    expect(page.locator(".rung.decides")).to_contain_text("jira is granted to the group Support.")

    asked = f"user=alice&group={lisbon.group_id}&space={lisbon.pk}&capability=gmail__send_mail"
    page.goto(f"/access/explain/?{asked}")
    expect(page.locator(".rung.decides")).to_contain_text("Project Lisbon")
    expect(page.get_by_text("overridden").first).to_be_visible()
    expect(page.get_by_text("the nearer space wins").first).to_be_visible()
    keep_picture(page, "access-explain")


def write_a_rule(page: Page, second: Space) -> None:
    """Preview a rule, and leave without saving."""
    page.goto(f"/access/spaces/{second.pk}/")
    page.get_by_text("Allow", exact=True).click()
    page.get_by_label("Search integrations and tools").fill("send mail")
    page.get_by_role("radio", name="Send mail").check()
    expect(page.locator("#warnings")).to_contain_text("within one space the stricter rule wins")
    keep_picture(page, "access-rules")
    assert Rule.objects.count() == 3


def ask_for_more(page: Page) -> None:
    expect(page.get_by_role("link", name="Search tickets")).to_be_visible()
    expect(page.get_by_role("link", name="List events")).to_have_count(0)
    page.get_by_role("link", name="Request access").click()
    page.get_by_label("What do you need?").fill("See when a colleague is free, and book a room")
    page.get_by_role("button", name="Send request").click()
    expect(page.get_by_text("Your request was sent.")).to_be_visible()


def answer_the_request(page: Page) -> None:
    page.get_by_role("link", name="Access 1 open request").click()
    page.get_by_role("link", name="Requests 1 open").click()
    page.get_by_role("link", name="Answer request alice").click()
    page.get_by_label("Search integrations and tools").fill("calend")
    expect(page.locator("#targets label")).to_have_count(3)
    page.get_by_role("radio", name="Calendar calendar").check()
    page.get_by_label("Note").fill("There you are")
    keep_picture(page, "access-answer")
    page.get_by_role("button", name="Grant access").click()
    expect(page.get_by_text("Request by alice granted.")).to_be_visible()
    expect(page.get_by_text("No open requests")).to_be_visible()
    page.goto("/access/requests/?show=answered")
    expect(page.get_by_text("Granted by")).to_be_visible()


def find_what_was_asked_for(page: Page) -> None:
    expect(page.get_by_role("link", name="List events")).to_be_visible()
    page.goto("/tools/requests/")
    expect(page.get_by_text("There you are")).to_be_visible()
    expect(page.get_by_text("Granted by")).to_contain_text("root")
    keep_picture(page, "my-requests")
    page.goto("/tools/calendar__list_events/why/")
    expect(page.get_by_text("calendar is granted to alice.").first).to_be_visible()
    keep_picture(page, "why-mine")


def take_it_back(page: Page) -> None:
    page.get_by_role("checkbox", name="Grant Jira to Support").uncheck()
    page.get_by_role("button", name="Review changes").click()
    expect(page.get_by_role("region", name="Loses access")).to_contain_text("jira__search_tickets")
    keep_picture(page, "access-revoke")
    page.get_by_role("button", name="Save 1 change").click()
    expect(page.get_by_text("1 change saved")).to_be_visible()
