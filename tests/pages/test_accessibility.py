"""Accessibility of dialogs; the pages themselves are tested in tests/screens."""

import pytest
from playwright.sync_api import Page

from catalog.models import Capability
from tests.screens.looking import serious

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("opener", ["Theme", "Account", "Send mail", "Find"])
def test_axe_finds_nothing_serious_in_what_opens(
    alices_page: Page, gmail: Capability, opener: str
) -> None:
    alices_page.emulate_media(reduced_motion="reduce")
    alices_page.goto("/tools/")

    alices_page.locator(f"button:has-text('{opener}'), a:has-text('{opener}')").first.click()
    alices_page.wait_for_timeout(300)

    assert serious(alices_page) == []
