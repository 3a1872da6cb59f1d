"""Lists: filtered, paged, at a level of detail, limited to the caller's rights."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from catalog.capabilities.catalog_queries import (
    CapabilityFilters,
    Page,
    list_capabilities,
    list_names,
)
from catalog.models import Capability
from tests.access.people import People
from tests.factories import CapabilityFactory, IntegrationFactory, give


def listed(people: People, **wanted: Any) -> list[str]:
    page = list_capabilities(caller=people.caller, filters=CapabilityFilters(**wanted))
    return [item["full_name"] for item in page.items]


def test_list_has_what_the_caller_may_use_by_name(people: People) -> None:
    assert listed(people) == ["gmail__search", "gmail__send_email", "wiki__read_page"]


def test_stranger_gets_an_empty_list_and_no_error(people: People) -> None:
    people.alice.groups.clear()

    page = list_capabilities(caller=people.caller)

    assert page == Page(items=(), total=0, limit=50, offset=0, hint="")


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"kind": "skill"}, []),
        ({"kind": "any"}, ["gmail__search", "gmail__send_email", "wiki__read_page"]),
        ({"category": "communication"}, ["gmail__send_email"]),
        ({"integration": "wiki"}, ["wiki__read_page"]),
        ({"integration": "payroll"}, []),
        ({"prefix": "gmail__se"}, ["gmail__search", "gmail__send_email"]),
        ({"query": "EMAIL several"}, ["gmail__send_email"]),
        ({"query": "email salaries"}, []),
        ({"prefix": "gmail", "category": "search"}, ["gmail__search"]),
    ],
)
def test_filters_narrow_the_list(people: People, wanted: dict[str, str], found: list[str]) -> None:
    assert listed(people, **wanted) == found


def test_tags_are_searched_too(people: People) -> None:
    Capability.objects.filter(pk=people.search.pk).update(tags=["mailbox"])

    assert listed(people, query="mailbox") == ["gmail__search"]


def test_pages_follow_one_another_without_gap_or_overlap(people: People) -> None:
    first = list_capabilities(caller=people.caller, limit=2)
    second = list_capabilities(caller=people.caller, limit=2, offset=2)

    names = [item["full_name"] for page in (first, second) for item in page.items]
    assert names == ["gmail__search", "gmail__send_email", "wiki__read_page"]
    assert (first.total, second.total) == (3, 3)
    assert (first.has_more, second.has_more) == (True, False)


def test_item_says_what_a_person_needs_to_recognise_it(people: People) -> None:
    Capability.objects.filter(pk=people.send.pk).update(ai_access="propose")

    page = list_capabilities(caller=people.caller, filters=CapabilityFilters(prefix="gmail__send"))

    assert page.items == (
        {
            "id": "tool:gmail__send_email",
            "full_name": "gmail__send_email",
            "kind": "tool",
            "integration": "gmail",
            "display_name": "Send email",
            "description": "Send an email to one or several people.",
            "category": "communication",
            "side_effect": "read",
            "effect_flags": [],
            "access": "asks first",
            "readiness": "asks_first",
            "readiness_reason": "Nobody can approve its calls: an admin must add another admin, or "
            "allow self-approval. Your application carries it out.",
            "tokens": 110,
        },
    )


def test_full_detail_adds_the_schema_and_nothing_about_its_server(people: People) -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string"}}}
    Capability.objects.filter(pk=people.send.pk).update(input_schema=schema, source_ref={"a": 1})

    page = list_capabilities(caller=people.caller, detail="full_schema")

    item = page.items[1]
    assert item["input_schema"] == schema
    assert item["description"] == people.send.description
    assert not {"source_ref", "pk", "definition_hash", "endpoint", "command"} & item.keys()


def test_disconnected_integration_is_left_out_with_a_hint(people: People) -> None:
    people.gmail.connection = "disconnected"
    people.gmail.save()
    people.payroll.connection = "disconnected"
    people.payroll.save()

    page = list_capabilities(caller=people.caller)

    assert [item["full_name"] for item in page.items] == ["wiki__read_page"]
    assert page.total == 1
    assert page.hint == "Not connected at the moment: gmail (2 capabilities)."


def test_hint_counts_only_what_would_have_fitted(people: People) -> None:
    people.gmail.connection = "disconnected"
    people.gmail.save()

    page = list_capabilities(caller=people.caller, filters=CapabilityFilters(integration="wiki"))

    assert page.hint == ""


@pytest.mark.parametrize("detail", ["name_only", "name_description", "full_schema"])
@pytest.mark.parametrize("count", [2, 20])
def test_list_takes_as_many_statements_for_two_rows_as_for_twenty(
    people: People, django_assert_num_queries: DjangoAssertNumQueries, detail: Any, count: int
) -> None:
    crm = IntegrationFactory.create(slug="crm")
    CapabilityFactory.create_batch(count, integration=crm)
    give(crm, people.support)
    list_names(caller=people.caller)  # fills the cache for all

    with django_assert_num_queries(4 if detail == "full_schema" else 1):
        page = list_capabilities(
            caller=people.caller, filters=CapabilityFilters(integration="crm"), detail=detail
        )

    assert len(page.items) == count
