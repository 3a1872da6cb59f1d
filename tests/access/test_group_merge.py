"""Merging groups: the preview says exactly who gains and loses what, and the merge does it."""

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from acl.models import AuditEntry
from acl.people._invitations import invite as invite_person
from acl.people.groups import GroupRefused
from acl.people.spaces import create_space, ensure_root
from acl.rights.caller_lookup import Caller
from catalog.access._group_merge import merge_groups, preview_merge
from catalog.access.usable_ids import load_access_modes
from catalog.models import Capability, Rule
from tests.access.people import People
from tests.factories import GroupFactory, UserFactory, give, lay_down

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(people: People) -> User:
    return UserFactory.create(username="root", is_staff=True, is_superuser=True)


def best_modes(person: User, *groups: Group) -> dict[str, int]:
    """Return what they may do in the root of any of the groups that they are in."""
    best: dict[int, int] = {}
    for group in groups:
        if person.groups.filter(pk=group.pk).exists():
            for pk, mode in load_access_modes(Caller(person.pk, group.pk), None).items():
                best[pk] = max(mode, best.get(pk, 0))
    names = dict(Capability.objects.filter(pk__in=best).values_list("pk", "full_name"))
    return {names[pk]: mode for pk, mode in best.items()}


def test_preview_is_what_the_merge_does(people: People, root: User) -> None:
    finance, support, third = people.finance, people.support, GroupFactory.create(name="third")
    both = UserFactory.create(username="dora", groups=[finance, support, third])
    ensure_root(third)
    place = create_space(by=root, group=third, parent=None, name="place")
    give(people.gmail, third)
    lay_down(Rule.Effect.DENY, people.send, place, group=finance)
    lay_down(Rule.Effect.DENY, people.pay, ensure_root(finance), user=both)
    lay_down(Rule.Effect.DENY, people.search, ensure_root(support), group=finance)
    everyone = [people.alice, people.bob, people.charlie, both]
    before = {one.username: best_modes(one, finance, support) for one in everyone}

    preview = preview_merge(source=finance, into=support)
    unchanged = {one.username: best_modes(one, finance, support) for one in everyone}
    merge_groups(by=root, source=finance, into=support)
    after = {one.username: best_modes(one, support) for one in everyone}

    assert before == unchanged
    told = {
        (person, tool, shift.space_name == "place")
        for shift in (*preview.effects.gains, *preview.effects.losses)
        for person in shift.people
        for tool in shift.capabilities
    }
    names = {name for name, *_ in told}
    changed = {
        (name, tool, False)
        for name in before
        for tool in before[name].keys() | after[name].keys()
        if before[name].get(tool, 0) != after[name].get(tool, 0)
    }
    assert {one for one in told if not one[2]} == changed
    assert names >= {"alice", "bob", "charlie"}
    assert preview.joining == 1
    assert (preview.grants, preview.rules) == (1, 2)
    assert not Group.objects.filter(name="finance").exists()
    assert people.charlie.groups.get() == support
    assert Rule.objects.get(space=place).group == support
    entry = AuditEntry.objects.get(action="group.merged")
    assert entry.details == {"group": "finance", "members": 2, "grants": 1, "rules": 2}


def test_open_invitations_lead_to_the_group_that_stays(people: People, root: User) -> None:
    invitation, _ = invite_person(by=root, email="eve@example.com", groups=[people.finance])

    merge_groups(by=root, source=people.finance, into=people.support)

    assert list(invitation.groups.all()) == [people.support]


def test_a_group_or_a_member_with_more_power_is_refused(people: People, root: User) -> None:
    staff = UserFactory.create(is_staff=True)
    people.finance.permissions.add(Permission.objects.get(codename="delete_user"))

    with pytest.raises(GroupRefused):
        merge_groups(by=staff, source=people.finance, into=people.support)
    people.finance.permissions.clear()
    root.groups.add(people.finance)
    with pytest.raises(GroupRefused):
        merge_groups(by=staff, source=people.finance, into=people.support)
    with pytest.raises(GroupRefused):
        merge_groups(by=root, source=people.finance, into=people.finance)

    assert people.charlie.groups.get() == people.finance


def test_api_previews_and_merges(people: People, root: User) -> None:
    client, path = Client(), f"/api/v1/groups/{people.finance.pk}/merge"
    client.force_login(root)

    preview = client.get(path, {"into": "support"}).json()
    wrong = [client.get(path, {"into": into}).status_code for into in ("nothing", "finance", "")]
    done = client.post(path, {"into": "support"}, content_type="application/json")

    assert {shift["people"][0] for shift in preview["gains"]} == {"alice", "charlie"}
    assert preview["joining"] == 1
    assert wrong == [400, 422, 400]
    assert done.status_code == 204
    assert people.charlie.groups.get() == people.support
