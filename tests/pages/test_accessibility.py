"""Every page in both themes and three widths: axe is content, and nothing scrolls sideways."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from acl.models import AccessRequest
from acl.services.requests import decline_request
from catalog.models import Capability
from tests.factories import CapabilityFactory
from tests.pages.conftest import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PATHS = [
    "/",
    "/?message=write+an+email&history=hello",
    "/?message=thanks",
    "/?message=write+an+email&user=nobody",
    "/tools/",
    "/tools/?q=nothing+like+it",
    "/tools/gmail__send_email/",
    "/tools/polite/",
    "/tools/requests/",
    "/spoon/",
]
LONG = "Rechtsschutzversicherungsgesellschaftsbeitragsrückerstattungsantragsformular"
ARABIC = "يرسل رسالة بريد إلكتروني إلى شخص ما"


@pytest.fixture
def full_board(gmail: Capability, admin: User) -> None:
    """Long and foreign names, a skill, something broken, and an answered request."""
    CapabilityFactory.create(integration=gmail.integration, display_name=LONG, description=LONG * 3)
    CapabilityFactory.create(
        integration=gmail.integration, description=f"email {ARABIC}", available=False
    )
    CapabilityFactory.create(
        integration=gmail.integration,
        full_name="polite",
        kind="skill",
        content="# Polite\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n" + "`" + LONG + "`",
    )
    wish = AccessRequest.objects.create(user=admin, group=admin.groups.get(), wish=LONG)
    decline_request(by=admin, request=wish, note="No")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(
    page: Page, admin: User, full_board: None, live_server: LiveServer, theme: str
) -> None:
    sign_in(page, admin, live_server)
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]

    found = {path: _serious(page, path) for path in PATHS}

    assert found == {path: [] for path in PATHS}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_the_way_in(page: Page, db: None, theme: str) -> None:
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]

    assert _serious(page, "/sign-in/") == []


@pytest.mark.parametrize("opener", ["Theme", "Account", "Send mail"])
def test_axe_finds_nothing_serious_in_what_opens(
    alices_page: Page, gmail: Capability, opener: str
) -> None:
    alices_page.emulate_media(reduced_motion="reduce")
    alices_page.goto("/tools/")

    alices_page.locator(f"button:has-text('{opener}'), a:text-is('{opener}')").first.click()
    alices_page.wait_for_timeout(300)

    assert _violations(alices_page) == []


@pytest.mark.parametrize("width", [390, 768, 1440])
def test_nothing_scrolls_sideways(
    page: Page, admin: User, full_board: None, live_server: LiveServer, width: int
) -> None:
    sign_in(page, admin, live_server)
    page.set_viewport_size({"width": width, "height": 844})

    wider = []
    for path in PATHS:
        page.goto(path)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wider.append(path)

    assert wider == []


def _serious(page: Page, path: str) -> list[str]:
    page.goto(path)
    return _violations(page)


def _violations(page: Page) -> list[str]:
    return [
        f"{violation['id']}: {node['html']}"
        for violation in Axe().run(page).response["violations"]
        if violation["impact"] in {"serious", "critical"}
        for node in violation["nodes"]
    ]
