"""Groups: created, renamed and deleted by page; many people added at once."""

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from acl.keys.lifecycle import create_key
from acl.models import ApiKey, AuditEntry, Invitation, Space
from acl.people._invitations import MOST_ENTRIES, read_list, read_table
from acl.people.groups import GroupRefused, create_group, delete_group, rename_group
from acl.people.people import PeopleRefused
from catalog.models import Capability, Rule
from tests.factories import GroupFactory, UserFactory, lay_down
from tests.people.conftest import mails

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
    as_clerk = Client()
    as_clerk.force_login(clerk)
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
