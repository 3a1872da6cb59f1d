"""Groups: created, renamed and deleted by page; many people added at once."""

import logging
import random
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from acl.keys.lifecycle import create_key
from acl.models import ApiKey, AuditEntry, GroupPolicy, Invitation, SignInGroup, Space
from acl.people._invitations import MOST_ENTRIES, accept, invite, read_list, read_table
from acl.people._provisioning import provision_person
from acl.people.adapters import apply_claims, claimed_values
from acl.people.groups import (
    GroupRefused,
    create_group,
    delete_group,
    map_group,
    rename_group,
    set_joined_by_default,
    unmap_group,
)
from acl.people.people import PeopleRefused, create_service_account
from catalog.models import Capability, Rule
from marketplace.operate.checkup.registry import PROBLEM, run_checks
from tests.examples import EXAMPLES
from tests.factories import GroupFactory, UserFactory, lay_down
from tests.people.conftest import mails
from tests.sessions import session_of

LISTED = "Only what is granted to them"


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def test_a_group_is_created_with_its_default_and_goes_on_to_its_people(
    as_admin: Client, admin: User
) -> None:
    assert LISTED in as_admin.get("/access/groups/new/").content.decode()

    answer = as_admin.post("/access/groups/new/", {"name": "  Sales   team ", "default": "open"})

    group = Group.objects.get(name="Sales team")
    assert answer.url == f"/access/groups/{group.pk}/people/"  # type: ignore[attr-defined]
    assert group.policy.open_default
    assert Space.objects.filter(group=group, parent=None).count() == 1
    assert actions()[-2:] == ["group.created", "group.opened"]


def test_only_who_may_add_to_a_group_gives_it_a_name_that_a_provider_knows(
    admin: User, support: Group
) -> None:
    support.permissions.add(Permission.objects.get(codename="install_stdio"))
    clerk = UserFactory.create(is_staff=True, groups=[GroupFactory.create(name="Clerks")])
    clerk.user_permissions.add(*Permission.objects.filter(codename="change_group"))
    as_clerk = session_of(clerk)
    at, change = f"/api/v1/groups/{support.pk}", {"name": "Employees"}

    by_api = as_clerk.patch(at, change, content_type="application/json")
    by_page = as_clerk.post(f"/access/groups/{support.pk}/rename/", change, follow=True)
    by_admin = as_clerk.post(f"/admin/auth/group/{support.pk}/change/", change)

    told = "admin permissions that you do not have"
    assert by_api.status_code == 422
    assert told in by_api.json()["detail"]
    assert told in by_page.content.decode()
    assert told in by_admin.content.decode()
    assert Group.objects.get(pk=support.pk).name == "Support"
    assert rename_group(by=admin, group=support, name="Employees").name == "Employees"


@pytest.mark.parametrize("name", ["", " ", "x" * 151, "SUPPORT", "S\u0443pport", "Sup\u200bport"])
def test_a_name_that_cannot_be_told_apart_is_refused(
    as_admin: Client, support: Group, name: str
) -> None:
    answer = as_admin.post("/access/groups/new/", {"name": name, "default": "listed"})

    assert answer.status_code == 422
    assert list(Group.objects.all()) == [support]


def test_a_group_is_renamed_and_keeps_its_own_name(admin: User, support: Group) -> None:
    rename_group(by=admin, group=support, name="support")
    GroupFactory.create(name="Sales")

    with pytest.raises(GroupRefused):
        rename_group(by=admin, group=support, name="sales")

    support.refresh_from_db()
    assert support.name == "support"
    assert AuditEntry.objects.get(action="group.renamed").details == {
        "before": "Support",
        "after": "support",
    }


def test_deleting_shows_first_who_loses_what(
    as_admin: Client, support: Group, alice: User, gmail: Capability
) -> None:
    UserFactory.create(username="dora", groups=[support, GroupFactory.create(name="Sales")])
    lay_down(Rule.Effect.DENY, gmail, Space.objects.get(group=support, parent=None))
    create_key(by=None, name="only here", group=support, scopes=["select"], owner=alice)
    both = create_key(
        by=None, name="both", groups=Group.objects.all(), scopes=["select"], acts_for_users=True
    )[0]
    address = f"/access/groups/{support.pk}/delete/"

    page = as_admin.get(address).content.decode()

    for words in ("3 members lose", "2 of them are in no other", "only here", "1 rule in its"):
        assert words in page
    assert '<li dir="auto">both' not in page
    assert as_admin.post(address, {"name": "Sales"}).status_code == 422
    assert Group.objects.filter(pk=support.pk).exists()

    as_admin.post(address, {"name": support.name})

    assert not Group.objects.filter(pk=support.pk).exists()
    assert User.objects.filter(username__in=["alice", "dora"], is_active=True).count() == 2
    assert ApiKey.objects.get(name="only here").revoked_at is not None
    both.refresh_from_db()
    assert both.revoked_at is None
    assert {"key.revoked", "group.deleted"} <= set(actions())


def test_a_group_with_more_power_than_the_admin_stays(support: Group) -> None:
    support.permissions.add(Permission.objects.get(codename="delete_group"))
    clerk = UserFactory.create(username="clerk", is_staff=True)

    with pytest.raises(GroupRefused):
        delete_group(by=clerk, group=support)

    assert Group.objects.filter(pk=support.pk).exists()


def test_a_list_is_read_from_what_people_paste(support: Group, alice: User, bob: User) -> None:
    dora = UserFactory.create(username="Dora", email="Dora@Example.com")
    UserFactory.create(username="gone", email="gone@example.com", is_active=False)
    text = (
        'name,address\r\n"Bob",\nDora <dora@example.com>; eve@example.com\tEVE@example.com\n'
        "alice, gone@example.com, nobody, <broken"
    )

    read = read_list(text, support)

    assert set(read.people) == {bob, dora}
    assert read.members == (alice,)
    assert read.addresses == ("eve@example.com",)
    assert read.unknown == ("name", "address", "gone@example.com", "nobody", "<broken")


@pytest.mark.parametrize("text", ["", " ,;\n", ",".join(map(str, range(MOST_ENTRIES + 1)))])
def test_an_empty_and_an_endless_list_are_refused(support: Group, text: str) -> None:
    with pytest.raises(PeopleRefused):
        read_list(text, support)


def test_thirty_people_are_added_and_invited_after_a_look(
    as_admin: Client, support: Group, bob: User
) -> None:
    addresses = [f"new{number}@example.com" for number in range(30)]
    form = {"people": "\n".join(["bob", *addresses])}
    address = f"/access/groups/{support.pk}/people/"

    looked = as_admin.post(address, form)

    assert "30 addresses have no account" in looked.content.decode()
    assert not bob.groups.filter(pk=support.pk).exists()
    assert Invitation.objects.count() == 0

    done = as_admin.post(address, {**form, "step": "add", "invite": "on"})

    assert bob.groups.filter(pk=support.pk).exists()
    assert "no-store" in done.headers["Cache-Control"]
    assert done.content.decode().count("/invitation/") == 30
    assert {one.email for one in Invitation.objects.filter(groups=support)} == set(addresses)
    assert len(mails()) == 30


def test_a_csv_file_counts_by_its_naming_column(
    as_admin: Client, support: Group, bob: User
) -> None:
    table = "Name;E-Mail;Team\nBob;bob@example.com;Sales\nEve;eve@example.com;Sales\n"
    address = f"/access/groups/{support.pk}/people/"
    wrong = SimpleUploadedFile("people.csv", b"\xff\xfe\x00")

    looked = as_admin.post(address, {"file": SimpleUploadedFile("people.csv", table.encode())})
    refused = as_admin.post(address, {"file": wrong})
    neither = as_admin.post(address, {})
    shown = looked.content.decode()
    sent = {"people": looked.context["list"], "step": "add", "invite": "on"}
    as_admin.post(address, sent)

    assert "Sales" not in shown
    assert "1 address has no account" in shown
    assert (looked.status_code, refused.status_code, neither.status_code) == (200, 422, 422)
    assert bob.groups.filter(pk=support.pk).exists()
    assert [one.email for one in Invitation.objects.all()] == ["eve@example.com"]
    assert read_table("bob, eve@example.com") == "bob, eve@example.com"


def test_nobody_is_invited_unless_that_is_chosen(
    as_admin: Client, support: Group, bob: User
) -> None:
    form = {"people": "bob, eve@example.com", "step": "add"}

    answer = as_admin.post(f"/access/groups/{support.pk}/people/", form)

    assert answer.url == f"/access/groups/{support.pk}/"  # type: ignore[attr-defined]
    assert bob.groups.filter(pk=support.pk).exists()
    assert Invitation.objects.count() == 0


def test_no_page_says_that_a_mail_is_on_its_way_if_none_is(
    as_admin: Client, support: Group, settings: object
) -> None:
    form = {"people": "eve@example.com"}
    address = f"/access/groups/{support.pk}/people/"
    assert "by e-mail" in as_admin.post(address, form).content.decode()

    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"  # type: ignore[attr-defined]

    assert "No mail server is set up" in as_admin.post(address, form).content.decode()
    invited = as_admin.post("/people/invite/", {"email": "fay@example.com", "role": "member"})
    assert "nothing was sent" in invited.content.decode()


def test_creating_needs_no_more_than_a_name(admin: User) -> None:
    group = create_group(by=admin, name="Ops")

    assert not group.policy.open_default
    assert actions() == ["group.created"]


def test_merging_shows_first_who_gains_what(
    as_admin: Client, support: Group, alice: User, bob: User
) -> None:
    other = bob.groups.get()
    page = f"/access/groups/{other.pk}/merge/"

    asked = as_admin.get(page, {"into": support.name}).content.decode()
    unknown = as_admin.get(page, {"into": "nothing"})
    unconfirmed = as_admin.post(page, {"into": support.name, "name": "x"})
    done = as_admin.post(page, {"into": support.name, "name": other.name})

    assert "1 person joins" in asked
    assert (unknown.status_code, unconfirmed.status_code, done.status_code) == (422, 422, 302)
    assert bob.groups.get() == support
    assert not Group.objects.filter(pk=other.pk).exists()


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
