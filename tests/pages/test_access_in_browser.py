"""The Access pages in a real browser."""

import pytest
from django.contrib.auth.models import Group, User
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from acl.models import Space
from acl.rights.caller_lookup import Caller
from catalog.models import Capability, Rule
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, lay_down
from tests.pages.conftest import sign_in
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
