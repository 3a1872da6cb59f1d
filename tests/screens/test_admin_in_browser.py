"""Django's admin in a browser that makes no script from text: all pages, and what they do."""

import pytest
from cryptography.fernet import Fernet
from django.contrib import admin as django_admin
from django.contrib.auth.models import User
from django.db.models import Model
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from acl.models import AuditEntry
from catalog.models import Integration, IntegrationGroupPermission
from tests.factories import GroupFactory
from tests.pages.conftest import (  # noqa: F401 - fixtures
    page,
    sign_in,
)
from tests.screens.world import World, build

# Alpine reads an attribute when it acts, which most never do here. So all that it is given, after
# `static/pegboard/admin.js` rewrote it, is noted, and parsed behind a `false` once the page stands.
NOTES_EXPRESSIONS = """
  window.attributes = [];
  window.violations = [];
  document.addEventListener("securitypolicyviolation", (event) => {
    violations.push(`${event.violatedDirective} ${event.sourceFile}:${event.lineNumber}`);
  });
  document.addEventListener("alpine:initializing", () => Alpine.mapAttributes((attribute) => {
    attributes.push([attribute.name, attribute.value]);
    return attribute;
  }));
"""
WITHOUT_EXPRESSION = ("x-cloak", "x-ref", "x-teleport", "x-transition", "x-for", "x-sort:item")
UNREADABLE = """
  (without) => attributes
    .filter(([name, value]) => name.startsWith("x-") && value && typeof value === "string")
    .filter(([name]) => !without.some((each) => name.startsWith(each)))
    .flatMap(([name, value]) => {
      const expression = value.trim().replace(/;$/, "");
      try { Alpine.evaluate(document.body, `false && (${expression})`); return []; }
      catch (error) { return [`${name}="${value}": ${error.message}`]; }
    })
"""

ON_CLICK = '[x-on\\:click="{}"]'
SIDEBAR = "[x-on\\:click^='sidebarDesktopOpen =']"


@pytest.fixture
def world(transactional_db: None, settings: Settings) -> World:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    return build()


@pytest.fixture
def root(world: World, page: Page, live_server: LiveServer) -> User:  # noqa: F811
    """The superuser, signed in to the window, which notes what it is asked to evaluate."""
    page.add_init_script(NOTES_EXPRESSIONS)
    sign_in(page, world.root, live_server)
    return world.root


@pytest.mark.browser
@pytest.mark.timeout(1_800)  # some three hundred pages, on busy machines
def test_every_admin_page_is_readable_without_eval(page: Page, root: User) -> None:  # noqa: F811
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
    troubles: dict[str, list[str]] = {}
    opened: set[str] = set()

    for path in _admin_pages():
        answer = page.goto(path, wait_until="load")
        assert answer is not None
        if answer.status in (403, 405):  # nobody adds or removes a row of this table by hand
            complaints.clear()
            continue
        assert answer.status == 200, path
        opened.add(path.rsplit("/", 2)[-2])
        assert "unsafe-eval" not in answer.headers["content-security-policy"]
        trouble = [
            *complaints,
            *page.evaluate("violations"),
            *page.evaluate(UNREADABLE, list(WITHOUT_EXPRESSION)),
        ]
        complaints.clear()
        if trouble:
            troubles[path] = trouble

    assert troubles == {}
    assert opened >= {"add", "change", "delete", "history"}


def _admin_pages() -> list[str]:
    """Return the addresses of lists, forms, deletions and histories."""
    paths = ["/admin/", "/admin/password_change/"]
    for model in django_admin.site._registry:
        paths += _pages_of(model)
    return paths


def _pages_of(model: type[Model]) -> list[str]:
    names = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    row = model._default_manager.first()
    own = (
        [reverse(f"{names}_{name}", args=[row.pk]) for name in ("change", "delete", "history")]
        if row
        else []
    )
    listed = reverse(f"{names}_changelist")
    return [listed, f"{listed}?q=mail", reverse(f"{names}_add"), *own]


@pytest.mark.browser
def test_its_theme_and_its_sidebar_are_switched_and_stay(page: Page, root: User) -> None:  # noqa: F811
    page.emulate_media(color_scheme="light")
    page.goto("/admin/catalog/integration/")

    page.locator(ON_CLICK.format("openUserLinks = !openUserLinks")).click()
    page.locator(ON_CLICK.format("switchTheme('dark')")).click()
    page.locator("h1").click()
    expect(page.locator("[x-show=openUserLinks]")).to_be_hidden()
    expect(page.locator("html")).to_have_class("dark")
    page.locator(SIDEBAR).click()
    expect(page.locator("#nav-sidebar")).to_be_hidden()
    page.reload()

    expect(page.locator("html")).to_have_class("dark")
    expect(page.locator("#nav-sidebar")).to_be_hidden()
    page.locator(SIDEBAR).click()
    expect(page.locator("#nav-sidebar")).to_be_visible()


@pytest.mark.browser
def test_its_commands_open_by_keys_and_are_gone_to(page: Page, root: User) -> None:  # noqa: F811
    page.goto("/admin/")

    page.keyboard.press("Control+k")
    field = (
        page.locator("#command-results")
        .locator("xpath=ancestor::*[@x-data]")
        .last.locator("input")
        .first
    )
    field.press_sequentially("audit entr", delay=30)
    expect(page.locator("#command-results-list li").first).to_be_visible()
    field.press("ArrowDown")
    field.press("Enter")

    page.wait_for_url("**/admin/acl/auditentry/")


@pytest.mark.browser
def test_its_filters_actions_and_tabs_work(page: Page, root: User) -> None:  # noqa: F811
    page.set_viewport_size({"width": 1200, "height": 900})  # where filters are a sheet
    page.goto("/admin/acl/apikey/")

    page.locator(ON_CLICK.format("filterOpen = true")).click()
    expect(page.locator("#changelist-filter")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#changelist-filter")).to_be_hidden()

    page.locator("input[name=_selected_action]").first.check()
    expect(page.locator("button[x-show=action]")).to_be_hidden()
    page.locator("select[name=action]").first.select_option("withdraw")
    page.locator("button[x-show=action]").click()
    page.wait_for_load_state()
    assert AuditEntry.objects.filter(action="key.revoked").exists()


@pytest.mark.browser
def test_a_row_is_added_below_a_form_and_saved(page: Page, root: User) -> None:  # noqa: F811
    night = GroupFactory.create(name="Night shift")
    integration = Integration.objects.get(slug="gmail")
    page.goto(f"/admin/catalog/integration/{integration.pk}/change/")
    grants = page.locator("[data-inline-type]", has=page.locator("[name^=integrationgroup]")).first
    rows = grants.locator("select[name$=-group]:visible")
    before = rows.count()

    grants.locator(".add-row").click()
    expect(rows).to_have_count(before + 1)
    grants.locator(".select2-selection:visible").last.click()
    page.keyboard.type("Night")
    page.locator(".select2-results__option", has_text="Night shift").click()
    page.locator("[name=_save]").click()

    page.wait_for_url("**/admin/catalog/integration/")
    assert IntegrationGroupPermission.objects.filter(
        content_object=integration, group=night
    ).exists()
