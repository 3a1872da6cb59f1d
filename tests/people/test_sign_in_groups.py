"""Groups by sign-in, by claims of providers, and those that everyone joins."""

import logging
import random
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from pytest_django import Settings

from acl.models import AuditEntry, GroupPolicy, SignInGroup
from acl.people._invitations import accept, invite
from acl.people._provisioning import provision_person
from acl.people.adapters import apply_claims, claimed_values
from acl.people.groups import (
    GroupRefused,
    delete_group,
    map_group,
    set_joined_by_default,
    unmap_group,
)
from acl.people.people import create_service_account
from marketplace.operate.checkup.registry import PROBLEM, run_checks
from tests.examples import EXAMPLES
from tests.factories import GroupFactory, UserFactory

PAGE = "/people/sign-in-groups/"
VALUES = ("staff", "support-team", "cn=a,dc=b", "Ämter")
NAMES = ("Red", "Green", "Blue", "Nowhere", "Elsewhere")


@pytest.mark.parametrize("seed", range(min(EXAMPLES, 20)))
def test_each_change_is_in_force_at_the_next_sign_in(
    seed: int, admin: User, alice: User, settings: Settings
) -> None:
    chance = random.Random(seed)
    groups = {name: Group.objects.create(name=name) for name in NAMES[:3]}
    by_setting = {(chance.choice(VALUES), chance.choice(NAMES)) for _ in range(chance.randrange(4))}
    settings.PEGBOARD_OIDC_GROUPS = tuple(by_setting)
    by_page = set[tuple[str, str]]()
    others = set(alice.groups.exclude(name__in=NAMES))
    had = set(chance.sample(list(groups), chance.randrange(3)))
    alice.groups.add(*(groups[name] for name in had))

    for _step in range(4):
        pair = chance.choice(VALUES), chance.choice(list(groups))
        if pair in by_page:
            unmap_group(by=admin, row=SignInGroup.objects.get(value=pair[0], group=groups[pair[1]]))
        else:
            map_group(by=admin, value=pair[0], group=groups[pair[1]])
        by_page ^= {pair}
        claimed = set(chance.sample(VALUES, chance.randrange(4)))
        apply_claims(person=alice, claims={"groups": sorted(claimed)})

        pairs = {each for each in by_page | by_setting if each[1] in groups}
        had = (had - {name for _value, name in pairs}) | {
            name for value, name in pairs if value in claimed
        }
        assert set(alice.groups.all()) == others | {groups[name] for name in had}
    missing = {name for _value, name in by_setting} - groups.keys()
    finding = {each.check.name: each.finding for each in run_checks()}["sign_in_groups"]
    assert (finding.state == PROBLEM) is bool(missing)
    assert all(name in finding.problem for name in missing)


def test_page_adds_shows_and_removes_and_the_log_says_who(
    as_admin: Client, support: Group, settings: Settings
) -> None:
    settings.PEGBOARD_OIDC_GROUPS = (("staff", "Nowhere"),)

    added = as_admin.post(PAGE, {"value": " support-team ", "group": support.pk})
    twice = as_admin.post(PAGE, {"value": "support-team", "group": support.pk})
    shown = as_admin.get(PAGE).content.decode()
    row = SignInGroup.objects.get()
    as_admin.post(f"{PAGE}{row.pk}/remove/")

    assert (added.status_code, twice.status_code) == (302, 422)
    assert "support-team gives Support already." in twice.content.decode()
    assert "support-team</code> → <strong" in shown
    assert "There is no such group" in shown
    assert not SignInGroup.objects.exists()
    entries = AuditEntry.objects.filter(action__startswith="sign_in_group.").order_by("pk")
    assert [(each.action, each.target, each.details["value"]) for each in entries] == [
        ("sign_in_group.added", "group Support", "support-team"),
        ("sign_in_group.removed", "group Support", "support-team"),
    ]


@pytest.mark.parametrize("fields", [{}, {"value": "x"}, {"value": "x", "group": "0"}])
def test_incomplete_form_changes_nothing(as_admin: Client, fields: dict[str, str]) -> None:
    assert as_admin.post(PAGE, fields).status_code == 422
    assert not SignInGroup.objects.exists()


def test_group_with_more_power_than_the_admin_is_not_mapped(support: Group, alice: User) -> None:
    alice.is_staff = True
    alice.save()
    mighty = Group.objects.create(name="Mighty")
    mighty.permissions.set(mighty.permissions.model.objects.all()[:3])

    with pytest.raises(GroupRefused):
        map_group(by=alice, value="staff", group=mighty)

    assert not SignInGroup.objects.exists()


def test_pair_goes_with_its_group(admin: User, support: Group) -> None:
    map_group(by=admin, value="staff", group=support)

    delete_group(by=admin, group=support)

    assert not SignInGroup.objects.exists()


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


@pytest.fixture
def everyone(admin: User) -> Group:
    group: Group = GroupFactory.create(name="All staff")
    set_joined_by_default(by=admin, group=group, joined=True)
    return group


def names(person: User) -> set[str]:
    return set(person.groups.values_list("name", flat=True))


def test_new_people_join_by_every_door_and_programs_do_not(
    as_admin: Client, admin: User, support: Group, everyone: Group
) -> None:
    _, raw = invite(by=admin, email="dora@example.com", groups=[support])
    password = "correct horse battery"

    invited = accept(raw=raw, username="dora", password=password)
    provisioned = provision_person(by=admin, username="erik")
    added = as_admin.post(
        "/admin/auth/user/add/",
        {"username": "fay", "password1": password, "password2": password,
         "usable_password": "true"},
    )  # fmt: skip
    program = create_service_account(by=admin, name="robot", groups=[support])

    assert names(invited) == {"Support", "All staff"}
    assert names(provisioned) == {"All staff"}
    assert added.status_code == 302
    assert names(User.objects.get(username="fay")) == {"All staff"}
    assert "All staff" not in names(program)
    joined = AuditEntry.objects.filter(action="person.joined_group")
    assert {entry.target for entry in joined} == {"dora", "erik", "fay"}
    assert names(admin) == {"Support"}  # who is there already stays as they are


def test_page_sets_the_default_and_takes_it_back(as_admin: Client, support: Group) -> None:
    page = f"/access/groups/{support.pk}/"

    as_admin.post(f"{page}joined/", {"joined": "on"})
    told = as_admin.get(page).content.decode(), as_admin.get("/access/groups/").content.decode()
    was = GroupPolicy.objects.get(group=support).joined_by_default
    as_admin.post(f"{page}joined/", {"joined": "off"})

    assert "Every new person joins this group" in told[0]
    assert "everyone joins" in told[1]
    assert (was, GroupPolicy.objects.get(group=support).joined_by_default) == (True, False)
    actions = AuditEntry.objects.filter(target="group Support").values_list("action", flat=True)
    assert {"group.joined_by_default", "group.not_joined_by_default"} <= set(actions)


def test_api_sets_the_default(as_admin: Client, support: Group) -> None:
    answer = as_admin.patch(
        f"/api/v1/groups/{support.pk}", {"joined_by_default": True}, content_type="application/json"
    )

    assert answer.json()["joined_by_default"] is True


def test_a_group_with_more_power_than_the_admin_is_refused(support: Group) -> None:
    staff = UserFactory.create(is_staff=True)
    support.permissions.add(Permission.objects.get(codename="delete_user"))

    with pytest.raises(GroupRefused):
        set_joined_by_default(by=staff, group=support, joined=True)
