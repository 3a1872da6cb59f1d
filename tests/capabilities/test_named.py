"""Lookups by name, and the overviews."""

import pytest
from pytest_django import DjangoAssertNumQueries

from catalog.capabilities.catalog_queries import (
    build_tree,
    get_batch,
    get_capability,
    list_categories,
    list_names,
    statistics,
)
from catalog.models import Capability
from tests.access.people import People
from tests.factories import CapabilityFactory, active_model, take_away


def test_capability_is_found_by_its_full_name(people: People) -> None:
    found = get_capability(caller=people.caller, full_name="gmail__send_email")

    assert found is not None
    assert found["id"] == "tool:gmail__send_email"
    assert found["action"] == "send_email"
    assert found["hint"] == ""


@pytest.mark.parametrize("name", ["payroll__pay", "wiki__delete_page", "no_such__tool", ""])
def test_foreign_and_unknown_names_are_both_nothing(
    people: People, django_assert_num_queries: DjangoAssertNumQueries, name: str
) -> None:
    with django_assert_num_queries(1):
        found = get_capability(caller=people.caller, full_name=name)

    assert found is None


def test_disconnected_capability_is_found_by_name_with_a_hint(people: People) -> None:
    people.gmail.connection = "disconnected"
    people.gmail.save()

    found = get_capability(caller=people.caller, full_name="gmail__search")

    assert found is not None
    assert found["hint"] == "Not connected at the moment: gmail (1 capability)."


def test_batch_keeps_the_order_and_names_the_missing_once(people: People) -> None:
    names = ["wiki__read_page", "payroll__pay", "gmail__search", "nothing", "nothing"]

    batch = get_batch(caller=people.caller, names=names)

    assert [item["full_name"] for item in batch.found] == ["wiki__read_page", "gmail__search"]
    assert batch.not_found == ("payroll__pay", "nothing")


def test_batch_takes_three_statements_however_many_names(
    people: People, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(3):
        get_batch(caller=people.caller, names=list_of_names(), detail="full_schema")


def list_of_names() -> list[str]:
    return [f"gmail__{number}" for number in range(98)] + ["gmail__search", "gmail__send_email"]


def test_names_of_a_caller_are_all_and_only_theirs(people: People) -> None:
    names, hint = list_names(caller=people.stranger)

    assert (names, hint) == (("payroll__pay",), "")


def test_categories_count_what_the_caller_may_use(people: People) -> None:
    categories, _ = list_categories(caller=people.caller)

    assert [(each.category, each.names) for each in categories] == [
        ("communication", ("gmail__send_email",)),
        ("other", ("wiki__read_page",)),
        ("search", ("gmail__search",)),
    ]


def test_tree_has_a_branch_for_each_integration_with_something_to_use(people: People) -> None:
    branches, _ = build_tree(caller=people.caller)

    assert [(branch.integration, branch.title) for branch in branches] == [
        ("gmail", "Gmail"),
        ("wiki", "Wiki"),
    ]
    assert [item["full_name"] for item in branches[1].capabilities] == ["wiki__read_page"]


def test_statistics_count_what_is_embedded_and_what_waits(people: People) -> None:
    figures = statistics(caller=people.caller)

    assert (figures.capabilities, figures.integrations) == (3, 2)
    assert (figures.embedded, figures.pending) == (2, 1)


def test_vectors_of_a_model_that_is_being_built_do_not_count(people: People) -> None:
    active_model()
    people.send.embeddings.update(vector_hash="of another text")

    figures = statistics(caller=people.caller)

    assert (figures.embedded, figures.pending) == (1, 2)


def test_index_version_stands_still_when_hidden_things_change(people: People) -> None:
    before = statistics(caller=people.caller).index_version

    CapabilityFactory.create(integration=people.payroll)
    people.delete_page.delete()

    assert statistics(caller=people.caller).index_version == before


def test_index_version_moves_with_what_the_caller_may_use(people: People) -> None:
    versions = {statistics(caller=people.caller).index_version}

    Capability.objects.filter(pk=people.send.pk).update(definition_hash="changed")
    versions.add(statistics(caller=people.caller).index_version)
    Capability.objects.filter(pk=people.send.pk).update(ai_access="propose")
    versions.add(statistics(caller=people.caller).index_version)
    take_away(people.gmail, people.support)
    versions.add(statistics(caller=people.caller).index_version)

    assert len(versions) == 4
