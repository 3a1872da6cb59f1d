"""My tools shows exactly the person's tools."""

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from acl.models import GroupPolicy
from catalog.models import Capability
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, give

# Session, user, groups; counts, rows and readiness; who approves; and one for all grounds.
QUERIES = 9  # one of them for what the application could carry out


def test_my_tools_asks_for_signing_in(client: Client) -> None:
    response = client.get("/tools/")

    assert response.status_code == 302
    assert response["Location"] == "/sign-in/?next=/tools/"


def test_tools_are_listed_with_the_reason_for_them(as_alice: Client, gmail: Capability) -> None:
    text = _text(as_alice, "/tools/")

    assert "Send mail" in text
    assert "because <em>Gmail</em> is granted to your group" in text
    assert "asks first" in text
    assert "writes" in text


def test_a_foreign_tool_is_neither_listed_nor_counted(as_alice: Client, gmail: Capability) -> None:
    CapabilityFactory.create(display_name="Pay salaries", category="finance")

    text = _text(as_alice, "/tools/")

    assert "Pay salaries" not in text
    assert "Finance" not in text


def test_search_goes_by_every_word(
    as_alice: Client, gmail: Capability, calendar: Capability
) -> None:
    text = _text(as_alice, "/tools/?q=email+send")

    assert "Send mail" in text
    assert "List events" not in text


def test_categories_are_counted_within_the_search(
    as_alice: Client, gmail: Capability, calendar: Capability
) -> None:
    found = as_alice.get("/tools/?q=meetings").context["found"]

    assert found.categories == (("planning", 1),)
    assert found.count == 1


def test_a_category_filters_the_rows_and_not_the_counts(
    as_alice: Client, gmail: Capability, calendar: Capability
) -> None:
    found = as_alice.get("/tools/?category=planning").context["found"]

    assert [mine.capability.full_name for mine in found.tools] == ["calendar__list_events"]
    assert found.everywhere == 2


def test_what_asks_first_can_be_shown_alone(
    as_alice: Client, gmail: Capability, calendar: Capability
) -> None:
    found = as_alice.get("/tools/?show=asks").context["found"]

    assert [mine.capability.full_name for mine in found.tools] == ["gmail__send_email"]


def test_what_is_not_available_says_why(as_alice: Client, gmail: Capability) -> None:
    Capability.objects.update(available=False, unavailable_reason="Gmail is down until Monday.")

    assert "Gmail is down until Monday." in _text(as_alice, "/tools/?show=missing")


def test_wrong_filters_count_as_none(as_alice: Client, gmail: Capability) -> None:
    assert "Send mail" in _text(as_alice, "/tools/?kind=spoon&show=all&page=many")


def test_a_page_holds_fifty(as_alice: Client, gmail: Capability) -> None:
    CapabilityFactory.create_batch(60, integration=gmail.integration)

    found = as_alice.get("/tools/?page=2").context["found"]

    assert (found.page, found.pages, found.count, len(found.tools)) == (2, 2, 61, 11)


def test_a_page_beyond_the_last_is_the_last(as_alice: Client, gmail: Capability) -> None:
    assert as_alice.get("/tools/?page=99").context["found"].page == 1


def test_htmx_gets_only_the_part_that_changes(as_alice: Client, gmail: Capability) -> None:
    response = as_alice.get("/tools/", headers={"HX-Request": "true"})

    assert "<html" not in response.content.decode()
    assert "Send mail" in response.content.decode()
    assert "HX-Request" in response["Vary"]


def test_without_tools_the_page_says_what_to_do(as_alice: Client) -> None:
    text = _text(as_alice, "/tools/")

    assert "No tools yet" in text
    assert "/tools/requests/" in text


def test_without_a_group_the_page_says_whom_to_ask(as_alice: Client, alice: User) -> None:
    alice.groups.clear()

    assert "You are not in a group yet" in _text(as_alice, "/tools/")


@pytest.mark.parametrize("rows", [2, 20])
def test_the_list_needs_the_same_statements_for_any_number_of_rows(
    as_alice: Client,
    gmail: Capability,
    rows: int,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for _ in range(rows - 1):
        capability = CapabilityFactory.create()
        give(capability.integration, gmail.integration.integrationgrouppermission_set.get().group)

    with django_assert_num_queries(QUERIES):
        response = as_alice.get("/tools/")

    assert response.context["found"].count == rows


def test_an_open_group_is_given_as_the_reason(as_alice: Client, support: Group) -> None:
    GroupPolicy.objects.filter(group=support).update(open_default=True)
    CapabilityFactory.create(display_name="Look up a word")

    assert "because your group <em>Support</em> is open" in _text(as_alice, "/tools/")


def test_choosing_another_group_shows_its_tools(
    as_alice: Client, alice: User, gmail: Capability
) -> None:
    sales = GroupFactory.create(name="Sales")
    alice.groups.add(sales)
    integration = IntegrationFactory.create()
    give(integration, sales)
    CapabilityFactory.create(integration=integration, display_name="Find a customer")

    as_alice.post("/group/", {"group": sales.pk})

    text = _text(as_alice, "/tools/")
    assert "Find a customer" in text
    assert "Send mail" not in text


def _text(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())
