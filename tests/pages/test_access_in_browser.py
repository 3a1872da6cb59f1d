"""The Access pages in a browser, and the life of a right: granted, explained, used, revoked."""

import pytest
from django.contrib.auth.models import Group, User
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from acl.models import Space
from acl.people.spaces import create_space
from acl.rights.caller_lookup import Caller
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
from tests.screens.looking import serious

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LONG = "Rechtsschutzversicherungsgesellschaftsbeitragsrückerstattungsantragsformular"
ARABIC = "أحتاج إلى البحث في صفحات الويكي"


@pytest.fixture
def jira(db: None) -> Capability:
    return CapabilityFactory.create(
        integration=IntegrationFactory.create(slug="jira", title="Jira", kind="builtin"),
        action="search",
        display_name="Search tickets",
    )


@pytest.fixture
def admins_page(page: Page, admin: User, live_server: LiveServer) -> Page:
    """The window with the admin signed in."""
    page.emulate_media(reduced_motion="reduce")
    sign_in(page, admin, live_server)
    return page


def change_and_save(page: Page) -> None:
    """Change rights in the matrix, preview and save them."""
    page.get_by_role("button", name="Review changes").click()
    page.get_by_role("button", name="Save 1 change").click()
    expect(page.get_by_text("1 change saved")).to_be_visible()


def test_the_preview_says_what_then_happens(
    admins_page: Page, alice: User, support: Group, gmail: Capability, calendar: Capability
) -> None:
    admins_page.goto("/access/?q=gmail")
    admins_page.get_by_role("checkbox", name="Grant Gmail to Support").uncheck()
    admins_page.get_by_role("button", name="Review changes").click()

    losses = admins_page.get_by_role("region", name="Loses access").locator("code")
    expect(losses).not_to_have_count(0)
    told = losses.all_inner_texts()
    before = _usable(alice, support)
    admins_page.get_by_role("button", name="Save 1 change").click()
    expect(admins_page.get_by_text("1 change saved")).to_be_visible()

    assert set(told) == before - _usable(alice, support) == {"gmail__send_email"}


def test_all_shown_are_selected_for_one_group_after_a_search(
    admins_page: Page, alice: User, support: Group, gmail: Capability, jira: Capability
) -> None:
    wiki = CapabilityFactory.create(
        integration=IntegrationFactory.create(slug="wiki", title="Jira wiki", kind="builtin")
    )
    page = admins_page
    page.goto(f"/access/groups/{support.pk}/")
    page.get_by_role("link", name="Edit grants").click()
    page.get_by_label("Search integrations").fill("jira")
    expect(page.get_by_role("rowheader", name="Gmail")).to_have_count(0)

    page.get_by_role("button", name="Select all shown").click()
    page.get_by_role("button", name="Review changes").click()
    page.get_by_role("button", name="Save 2 changes").click()
    expect(page.get_by_text("2 changes saved")).to_be_visible()
    granted = _usable(alice, support)
    page.get_by_role("button", name="Clear shown").click()
    expect(page.get_by_text("2 unsaved changes")).to_be_visible()

    assert granted == {"gmail__send_email", jira.full_name, wiki.full_name}
    assert serious(page) == []


def test_a_saved_change_is_taken_back_from_the_notice(
    admins_page: Page, alice: User, support: Group, gmail: Capability
) -> None:
    admins_page.goto("/access/")
    admins_page.get_by_role("checkbox", name="Grant Gmail to Support").uncheck()
    change_and_save(admins_page)

    admins_page.get_by_role("link", name="Undo").click()
    admins_page.get_by_role("button", name="Save 1 change").click()
    expect(admins_page.get_by_text("1 change saved")).to_be_visible()

    assert _usable(alice, support) == {"gmail__send_email"}


def test_changes_live_through_searching_and_looking(
    admins_page: Page, support: Group, gmail: Capability, jira: Capability
) -> None:
    page = admins_page
    page.goto("/access/")
    page.get_by_role("checkbox", name="Grant Jira to Support").check()

    page.get_by_label("Search integrations").fill("gmail")
    expect(page.get_by_role("rowheader", name="Jira")).to_have_count(0)
    page.get_by_role("checkbox", name="Grant Gmail to Support").uncheck()
    expect(page.get_by_text("2 unsaved changes")).to_be_visible()
    page.get_by_role("button", name="Review changes").click()
    expect(page.get_by_role("listitem").filter(has_text="Grant Jira to Support")).to_be_visible()
    page.get_by_role("link", name="Cancel").click()
    page.get_by_label("Search integrations").fill("")

    expect(page.get_by_role("checkbox", name="Grant Jira to Support")).to_be_checked()
    expect(page.get_by_role("checkbox", name="Grant Gmail to Support")).not_to_be_checked()
    page.get_by_role("button", name="Discard changes").click()
    expect(page.get_by_role("checkbox", name="Grant Jira to Support")).not_to_be_checked()


def test_the_matrix_works_by_keyboard(
    admins_page: Page, support: Group, gmail: Capability, jira: Capability
) -> None:
    GroupFactory.create(name="Sales")
    page = admins_page
    page.goto("/access/")

    page.get_by_role("checkbox", name="Grant Gmail to Sales").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("checkbox", name="Grant Jira to Sales")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")

    expect(page.get_by_role("checkbox", name="Grant Jira to Support")).to_be_checked()
    expect(page.get_by_text("1 unsaved change")).to_be_visible()


def test_a_row_and_a_column_change_at_once(
    admins_page: Page, support: Group, gmail: Capability, jira: Capability
) -> None:
    GroupFactory.create(name="Sales")
    page = admins_page
    page.goto("/access/")

    page.get_by_role("button", name="All groups shown for Jira").click()
    page.get_by_role("button", name="All integrations shown for Sales").click()

    expect(page.get_by_text("3 unsaved changes")).to_be_visible()
    expect(page.get_by_role("checkbox", name="Grant Gmail to Sales")).to_be_checked()


def test_a_surprise_is_said_while_the_rule_is_written(
    admins_page: Page, support: Group, gmail: Capability
) -> None:
    root = Space.objects.get(group=support, parent=None)
    lay_down(Rule.Effect.DENY, gmail.integration, root)
    page = admins_page
    page.goto(f"/access/spaces/{root.pk}/")

    page.get_by_text("Allow", exact=True).click()
    page.get_by_label("Search integrations and tools").fill("send")
    page.get_by_role("radio", name="Send mail").check()

    expect(page.locator("#warnings")).to_contain_text("within one space the stricter rule wins")
    expect(page.locator("#warnings")).to_contain_text("What works:")
    assert not Rule.objects.filter(effect=Rule.Effect.ALLOW).exists()


def test_a_question_to_explain_needs_no_button(
    admins_page: Page, alice: User, gmail: Capability
) -> None:
    page = admins_page
    page.goto("/access/explain/?capability=gmail__send_email")

    page.get_by_label("Person", exact=True).fill("alice")
    page.get_by_label("Person", exact=True).press("Tab")

    expect(page.get_by_role("heading", name="Yes, but it asks first")).to_be_visible()
    expect(page.get_by_label("Group", exact=True)).to_contain_text("Support")


def test_rights_are_changed_without_scripts(
    admins_page: Page,
    alice: User,
    support: Group,
    jira: Capability,
    gmail: Capability,
    live_server: LiveServer,
) -> None:
    plain = admins_page.context.browser.new_context(  # type: ignore[union-attr]
        base_url=live_server.url, java_script_enabled=False
    )
    plain.add_cookies(admins_page.context.cookies())  # type: ignore[arg-type]
    page = plain.new_page()
    page.goto("/access/")

    page.get_by_role("checkbox", name="Grant Jira to Support").check()
    change_and_save(page)
    root = Space.objects.get(group=support, parent=None)
    page.goto(f"/access/spaces/{root.pk}/")
    page.get_by_label("Search integrations and tools").fill("gmail")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("radio", name="Gmail gmail").check()
    page.get_by_role("button", name="Review rule").click()
    page.get_by_role("button", name="Save 1 change").click()
    expect(page.get_by_text("1 change saved")).to_be_visible()

    assert _usable(alice, support) == {"jira__search"}
    plain.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_the_look_at_changes(
    admins_page: Page, gmail: Capability, jira: Capability, theme: str
) -> None:
    admins_page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    admins_page.goto("/access/")
    admins_page.get_by_role("checkbox", name="Grant Jira to Support").check()
    admins_page.get_by_role("checkbox", name="Grant Gmail to Support").uncheck()
    assert serious(admins_page) == []
    admins_page.get_by_role("button", name="Review changes").click()
    expect(admins_page.get_by_role("heading", name="Review 2 changes")).to_be_visible()

    assert serious(admins_page) == []


def _usable(user: User, group: Group) -> set[str]:
    usable = Capability.objects.usable_by(Caller(user.pk, group.pk))
    return set(usable.values_list("full_name", flat=True))


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
