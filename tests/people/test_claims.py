"""The groups claim, in all shapes that providers send."""

import logging
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from pytest_django import Settings

from acl.models import AuditEntry
from acl.people.adapters._provider import apply_claims, claimed_values


@pytest.mark.parametrize(
    ("claims", "name", "values"),
    [
        ({"groups": ["a", "b"]}, "groups", {"a", "b"}),
        ({"groups": "a"}, "groups", {"a"}),
        ({"realm_access": {"roles": ["a"]}}, "realm_access.roles", {"a"}),
        ({"https://example.com/groups": ["a"]}, "https://example.com/groups", {"a"}),
        ({"groups": ["a", 1, None, ["b"]]}, "groups", {"a"}),
        ({"groups": {"a": True}}, "groups", set()),
        ({"groups": 7}, "groups.inner", set()),
        ({}, "groups", set()),
    ],
)
def test_values_are_the_texts_of_the_claim(
    claims: dict[str, Any], name: str, values: set[str]
) -> None:
    assert claimed_values(claims, name) == values


def test_one_value_may_mean_several_groups(alice: User, support: Group, settings: Settings) -> None:
    settings.PEGBOARD_OIDC_GROUPS = (("staff", "Support"), ("staff", "Sales"))
    Group.objects.create(name="Sales")

    apply_claims(person=alice, claims={"groups": ["staff"]})

    assert set(alice.groups.values_list("name", flat=True)) == {"Support", "Sales"}


def test_a_group_that_is_missing_is_told_in_the_log_and_not_made(
    alice: User, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.PEGBOARD_OIDC_GROUPS = (("staff", "Nowhere"),)

    with caplog.at_level(logging.WARNING):
        apply_claims(person=alice, claims={"groups": ["staff"]})

    assert "Nowhere" in caplog.text
    assert not Group.objects.filter(name="Nowhere").exists()
    assert not AuditEntry.objects.exists()


def test_without_a_mapping_nothing_is_given_or_taken(alice: User) -> None:
    before = set(alice.groups.all())

    apply_claims(person=alice, claims={"groups": ["Support", "admin"]})

    assert set(alice.groups.all()) == before
    alice.refresh_from_db()
    assert not alice.is_staff
