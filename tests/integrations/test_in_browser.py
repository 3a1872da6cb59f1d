"""The pages of integrations in a browser: the way of an admin, and that everybody can read them."""

import os

import pytest
from django.contrib.auth.models import Group, User
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from catalog.models import Integration, OAuthSignIn
from catalog.secrets.sealing import values_for
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, give
from tests.integrations.conftest import CANARY, installed
from tests.pages.conftest import sign_in
from tests.people.test_in_browser import LONG, troubles

SHOTS = os.environ.get("SHOTS", "")
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_admin_sets_a_secret_finds_what_is_wrong_and_removes_it(
    page: Page, admin: User, mail: Integration, live_server: LiveServer
) -> None:
    sign_in(page, admin, live_server)
    page.goto("/")
    page.get_by_role("link", name="Integrations").click()
    page.get_by_label("Search integrations").press_sequentially("mai")
    page.get_by_role("link", name="Mail", exact=True).click()
    expect(page.get_by_role("img", name="The last 2 looks: 1 went well.")).to_be_visible()
    page.get_by_label("TOKEN", exact=True).fill(CANARY)
    page.get_by_role("button", name="Set TOKEN").click()
    expect(page.get_by_text("TOKEN is set.")).to_be_visible()
    assert CANARY not in page.content()
    assert values_for(mail) == {"TOKEN": CANARY}

    page.get_by_role("button", name="Check now").click()
    expect(page.get_by_text("A worker looks at it now.")).to_be_visible()
    mail.checks.create(milliseconds=7, tools=2)
    expect(page.get_by_role("img", name="The last 3 looks: 2 went well.")).to_be_visible()
    page.get_by_role("link", name="Uninstall").click()
    page.get_by_label("to go on").fill("mail")
    page.get_by_role("button", name="Uninstall it for everybody").click()

    expect(page.get_by_text("Mail is gone.")).to_be_visible()
    expect(page.get_by_role("heading", name="Nothing is installed yet")).to_be_visible()


def test_person_is_told_where_they_are_sent_to_sign_in(
    page: Page, alice: User, mail: Integration, live_server: LiveServer
) -> None:
    Integration.objects.filter(pk=mail.pk).update(own_secrets=True)
    sign_in(page, alice, live_server)
    page.goto("/tools/")
    page.get_by_role("link", name="Your connections").click()
    page.get_by_role("link", name="Mail", exact=True).click()
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Asks the server where to sign in.")).to_be_visible()

    # What a worker does, without one.
    OAuthSignIn.objects.update(
        state="waiting", authorization_url="https://accounts.example/authorize?client_id=x"
    )

    there = page.get_by_role("link", name="Go on to accounts.example")
    expect(there).to_be_visible()
    assert "&state=" in str(there.get_attribute("href"))
    assert troubles(page) == []
    OAuthSignIn.objects.update(state="failed", message="The authorization server refused.")
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("The authorization server refused.")
    assert troubles(page) == []
    if SHOTS:
        OAuthSignIn.objects.update(state="waiting")
        page.reload()
        page.screenshot(path=f"{SHOTS}/sign-in.png")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_and_nothing_scrolls_sideways(
    page: Page,
    admin: User,
    alice: User,
    support: Group,
    mail: Integration,
    live_server: LiveServer,
    theme: str,
) -> None:
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    long = GroupFactory.create(name=LONG)
    wide = installed(
        "wide", long, admin, required_secrets=["X-" + "LONG_" * 20], own_secrets=True,
        description="وصف الأداة " * 20, connection="failing",
    )  # fmt: skip
    Integration.objects.filter(pk=wide.pk).update(
        title=LONG * 2, connection="failing", health="It could not be reached. " + "x" * 200
    )
    give(wide, support)
    give(wide, alice)
    CapabilityFactory.create(integration=wide, action="a" * 50, description=LONG * 6)
    IntegrationFactory.create(slug="plain", kind="builtin", connection="not_needed")
    of_admins = ["", "?q=nothing+fits", "wide/", "plain/", "wide/update/", "wide/uninstall/"]
    paths = {
        admin: [f"/integrations/{path}" for path in of_admins],
        alice: ["/tools/connections/", "/tools/connections/wide/"],
    }

    found = []
    for person, addresses in paths.items():
        sign_in(page, person, live_server)
        for path in addresses:
            answer = page.goto(path)
            assert answer is not None
            assert answer.ok
            for width in (1440, 390):
                page.set_viewport_size({"width": width, "height": 900})
                # Axe takes its time: dark where it is wide, light where it is narrow.
                look = troubles if (width == 1440) == (theme == "dark") else scrolls
                found += [(path, width, trouble) for trouble in look(page)]
                if (folder := SHOTS) and theme == "light":
                    name = path.strip("/").replace("/", "-").replace("?", "-")
                    page.screenshot(path=f"{folder}/{name}-{width}.png", full_page=True)

    assert found == []


def scrolls(page: Page) -> list[str]:
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return ["scrolls"] if wide else []
