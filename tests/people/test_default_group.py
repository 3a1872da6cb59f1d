"""Groups that everyone joins: by each door, and never beyond the admin's own power."""

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from acl.models import AuditEntry, GroupPolicy
from acl.people._invitations import accept, invite
from acl.people._provisioning import provision_person
from acl.people.groups import GroupRefused, set_joined_by_default
from acl.people.service_accounts import create_service_account
from tests.factories import GroupFactory, UserFactory


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
