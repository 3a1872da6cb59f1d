"""Insights in a browser, with long and foreign words, in three widths.

Other themes and empty states are tested with all pages in tests/screens.
"""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from catalog.models import Capability
from discovery.models import OutcomeAlert, Turn
from discovery.turns.outcomes import report_outcome, verdict_of_status
from tests.pages.conftest import (
    admin,
    alice,
    gmail,
    page,
    sign_in,
    support,
)
from tests.screens.looking import serious

FIXTURES = [admin, alice, gmail, page, support]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PATHS = ("/insights/", "/insights/?period=24h", "/insights/outcomes/", "/insights/tools/")
LONG = "Rechtsschutzversicherungsgesellschaftsbeitragsrückerstattungsantragsformular"
ARABIC = "أحتاج إلى البحث في صفحات الويكي"


@pytest.fixture
def days(alice: User, gmail: Capability) -> None:
    """Turns of alice's in a group with a long name, one of them failed, and an alert."""
    group = alice.groups.get()
    group.name = LONG
    group.save()
    for number in range(12):
        turn = Turn.objects.create(
            user=alice, group=group, selected=[[gmail.identifier, 0.9]], tokens_all=900,
            tokens_selected=300, milliseconds=20 + number, discovery_calls=number % 2,
            discovery_empty=number % 2, message=f"{ARABIC} {LONG}",
        )  # fmt: skip
        status = "failed" if number == 3 else "success"
        report_outcome(
            turn=turn, verdict=verdict_of_status(status), called=[gmail.full_name] if number else []
        )
        at = timezone.now() - timedelta(hours=5 * number)
        Turn.objects.filter(pk=turn.pk).update(created_at=at)
    OutcomeAlert.objects.create(
        scope="x", group=group, severity="critical", reason=LONG, threshold=0.55, value=0.2,
        samples=8, at=timezone.now() - timedelta(minutes=5),
    )  # fmt: skip


def test_pages_are_right_for_everyone(
    page: Page, admin: User, days: None, live_server: LiveServer
) -> None:
    sign_in(page, admin, live_server)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")

    for path in PATHS:
        page.goto(path)
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        assert serious(page) == [], path
        for width in (390, 768, 1440):
            page.set_viewport_size({"width": width, "height": 844})
            wider = page.evaluate("document.documentElement.scrollWidth > innerWidth")
            assert not wider, (path, width)


def test_time_is_chosen_in_place_and_kept_in_the_address(
    page: Page, alice: User, days: None, live_server: LiveServer
) -> None:
    sign_in(page, alice, live_server)
    page.goto("/insights/")
    expect(page.locator(".chart svg")).to_have_count(5)

    page.locator("#period-24h").check(force=True)

    expect(page).to_have_url(re.compile("period=24h"))
    expect(page.get_by_text("previous 24 hours").first).to_be_visible()
    expect(page.locator("#period-24h")).to_be_focused()
    page.get_by_role("link", name="Tools", exact=True).click()
    expect(page).to_have_url(re.compile(r"tools/\?period=24h"))
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV (Called tools)").click()
    assert download.value.suggested_filename.startswith("pegboard-called-")
