"""Groups by sign-in: pairs of the page and of the setting, against a model in random worlds."""

import random

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from pytest_django import Settings

from acl.models import AuditEntry, SignInGroup
from acl.people.adapters._provider import apply_claims
from acl.people.groups import GroupRefused, delete_group
from acl.people.sign_in_groups import map_group, unmap_group
from marketplace.operate.checkup.registry import PROBLEM, run_checks
from tests.examples import EXAMPLES

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
