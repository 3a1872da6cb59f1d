"""Lists in which one compares: a line each, and nothing that nearly every line would say."""

from datetime import date

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from acl.web.frame import usual_value
from catalog.models import Capability
from discovery.answer.formats.registry import FORMATS
from marketplace.listings._browse import Card, InstalledListing
from marketplace.listings.pages import MOST_BADGES, badge_cards
from marketplace.models import Listing
from marketplace.offers.offer import PackageTest
from tests.factories import CapabilityFactory
from tests.pages.conftest import sign_in

WORDS = ("sales", "travel", "payroll", "energy", "traffic", "quality", "weekly", "safety", "stock")
_IN_VIEW = """
[...document.querySelectorAll(".chosen-row")]
  .map((row) => row.getBoundingClientRect())
  .filter((box) => box.bottom <= innerHeight).map((box) => box.height)
"""


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_playground_shows_six_results_above_the_fold_and_its_tabs_in_a_row(
    page: Page, alice: User, gmail: Capability, live_server: LiveServer
) -> None:
    for word in WORDS:
        CapabilityFactory.create(
            integration=gmail.integration,
            action=f"write_{word}_report",
            display_name=f"Write the {word} report",
            description=f"Writes the report about {word}. " + "It has a page for each week. " * 9,
        )
    page.set_viewport_size({"width": 1440, "height": 900})
    sign_in(page, alice, live_server)

    page.goto("/?message=write+all+reports&max_tools=9")
    heights = page.evaluate(_IN_VIEW)
    message = page.get_by_role("textbox", name="Message", exact=True).bounding_box()
    first = page.locator(".chosen-row").first
    box, tabs = first.bounding_box(), page.locator(".outputs .strip").bounding_box()

    assert len(heights) >= 6
    assert max(heights) < 60
    assert message
    assert box
    assert message["x"] + message["width"] < box["x"]
    assert page.locator(".outputs label").count() >= len(FORMATS)
    assert tabs
    assert tabs["height"] < 40
    reasons = first.locator(".row-reasons")
    expect(reasons).to_be_hidden()
    first.locator("summary").click()
    expect(reasons).to_be_visible()


def test_integrations_take_one_line_each(as_admin: Client, gmail: Capability) -> None:
    page = as_admin.get("/integrations/").text

    assert page.count("<tr>") == 2  # with the head, which says once what the figures are
    assert "MCP server" not in page.split("</thead>")[1]


@given(st.lists(st.sampled_from("abc"), max_size=30))
def test_usual_value_is_shared_by_nearly_all(values: list[str]) -> None:
    usual = usual_value(values)

    shares = {value: values.count(value) / len(values) for value in values}
    assert usual == next((value for value, share in shares.items() if share >= 0.7), None)


_TESTED = PackageTest(version="1.0", tested_on=date(2026, 1, 2), state="works")


@st.composite
def cards(draw: st.DrawFn) -> Card:
    """A card in any of its states."""
    listing = Listing(
        slug="a", title="A",
        kind=draw(st.sampled_from(["mcp", "skill", "extension"])),
        transport=draw(st.sampled_from(["", "stdio", "http"])),
        required_secrets=draw(st.sampled_from([[], ["TOKEN"]])),
        review=draw(st.sampled_from([*Listing.PASSED, "held"])),
    )  # fmt: skip
    installed = draw(st.sampled_from([None, InstalledListing("a", "a", "1", True)]))
    test = draw(st.sampled_from([None, _TESTED]))
    return Card(listing, installed, draw(st.booleans()) and installed is not None, 1, test)


@given(st.lists(cards(), max_size=12), st.booleans())
def test_cards_bear_two_badges_and_none_that_all_bear(page: list[Card], alike: bool) -> None:
    if alike:
        page = page[:1] * len(page)

    badges, common = badge_cards(page)

    labels = [badge.label for each in badges for badge in each]
    assert all(len(each) <= MOST_BADGES for each in badges)
    if len(page) > 3:
        assert all(labels.count(label) < len(page) for label in labels)
        assert all(label.lower() not in common.lower().split(", ") for label in labels)
    if alike and len(page) > 3:
        assert labels == []
