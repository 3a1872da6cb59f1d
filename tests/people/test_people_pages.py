"""The People pages, for admins only."""

from io import StringIO

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from acl.models import AuditEntry, Invitation
from acl.people._invitations import invite
from acl.people.service_accounts import create_service_account
from tests.factories import GroupFactory, UserFactory
from tests.people.conftest import SECRET, is_signed_in, sign_in_as


def test_for_others_there_are_no_such_pages(as_alice: Client, admin: User, support: Group) -> None:
    invitation, _ = invite(by=admin, email="dora@example.com", groups=[])
    paths = [
        reverse("people-list"),
        reverse("invite"),
        reverse("invitation-withdraw", args=[invitation.pk]),
        reverse("person", args=[admin.pk]),
        reverse("person-join", args=[admin.pk]),
        reverse("person-leave", args=[admin.pk, support.pk]),
        reverse("person-deactivate", args=[admin.pk]),
        reverse("person-reactivate", args=[admin.pk]),
        reverse("person-codes-off", args=[admin.pk]),
    ]

    answers = {as_alice.get(path).status_code for path in paths}
    answers |= {as_alice.post(path).status_code for path in paths}
    strangers = {Client().get(path)["Location"].split("?")[0] for path in paths}

    assert answers == {404}
    assert strangers == {"/sign-in/"}
    assert Invitation.objects.get().withdrawn_at is None


def test_list_tells_who_there_is(as_admin: Client, alice_with_codes: User) -> None:
    UserFactory.create(username="gone", is_active=False)

    text = as_admin.get("/people/").content.decode()

    for words in (
        "alice@example.com",
        "Support",
        "two-factor on",
        "never",
        "deactivated",
        "3 people",
    ):
        assert words in text, words


def test_service_accounts_are_marked_and_found(as_admin: Client, support: Group) -> None:
    what = "Answers mail at night"
    robot = create_service_account(by=None, name="robot", groups=[support], description=what)

    everyone = as_admin.get("/people/").content.decode()
    programs = as_admin.get("/people/?show=programs")
    without_codes = as_admin.get("/people/?show=no-codes")
    text = as_admin.get(f"/people/{robot.pk}/").content.decode()
    asked = as_admin.get(f"/people/{robot.pk}/deactivate/").content.decode()

    assert everyone.count("service account</span>") == 1
    assert "uses API keys" in everyone
    assert [one.username for one in programs.context["people"]] == ["robot"]
    assert [one.username for one in without_codes.context["people"]] == ["root"]
    assert "nobody can sign in as it" in text
    assert "Answers mail at night" in text
    assert "Two-factor authentication" not in text
    assert "Its keys will be refused from their next request." in asked


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"q": "ALICE@"}, {"alice"}),
        ({"q": "%"}, set()),
        ({"group": "Support"}, {"alice", "root"}),
        ({"show": "inactive"}, {"gone"}),
        ({"show": "admins"}, {"root"}),
        ({"show": "no-codes"}, {"root"}),
        ({"show": "nonsense", "page": "many"}, {"alice", "root", "gone"}),
    ],
)
def test_list_is_filtered(
    as_admin: Client, alice_with_codes: User, query: dict[str, str], found: set[str]
) -> None:
    UserFactory.create(username="gone", is_active=False)

    people = as_admin.get("/people/", query).context["people"]

    assert {person.username for person in people} == found


def test_list_takes_as_many_statements_for_twenty_as_for_two(as_admin: Client, admin: User) -> None:
    counts = []
    for number in (2, 18):
        for _ in range(number):
            group = GroupFactory.create()
            UserFactory.create(groups=[group])
            invite(by=admin, email=f"{group.name}@example.com", groups=[group])
        with CaptureQueriesContext(connection) as statements:
            as_admin.get("/people/")
        counts.append(len(statements))

    assert counts[0] == counts[1]


def test_a_long_list_has_pages(as_admin: Client) -> None:
    UserFactory.create_batch(60)

    text = as_admin.get("/people/?page=2").content.decode()

    assert "61 people" in text
    assert "Page 2 of 2" in text


def test_deactivating_is_asked_about_and_ends_sessions_for_good(
    as_admin: Client, alice: User
) -> None:
    session = sign_in_as("alice")
    page = as_admin.get(f"/people/{alice.pk}/deactivate/")
    assert "signed out everywhere" in page.content.decode()
    assert is_signed_in(session)

    as_admin.post(f"/people/{alice.pk}/deactivate/")

    assert not is_signed_in(session)
    assert not is_signed_in(sign_in_as("alice"))
    entry = AuditEntry.objects.get(action="person.deactivated")
    assert (entry.target, entry.details["sessions"]) == ("alice", 1)

    as_admin.post(f"/people/{alice.pk}/reactivate/")

    assert is_signed_in(sign_in_as("alice"))
    assert not is_signed_in(session)
    assert is_signed_in(as_admin)


def test_deactivating_in_the_admin_ends_sessions_as_well(as_admin: Client, alice: User) -> None:
    session = sign_in_as("alice")
    form = {"username": "alice", "email": alice.email, "groups": [], "user_permissions": []}
    saved = as_admin.post(f"/admin/auth/user/{alice.pk}/change/", form)
    assert saved.status_code == 302, saved.content.decode()

    User.objects.update(is_active=True)

    assert not is_signed_in(session)


def test_no_address_is_confirmed_by_hand_in_the_admin(as_admin: Client) -> None:
    for place in ("account/emailaddress", "mfa/authenticator", "socialaccount/socialaccount"):
        assert as_admin.get(f"/admin/{place}/").status_code == 404


def test_groups_are_changed_from_the_page(as_admin: Client, alice: User, support: Group) -> None:
    sales = GroupFactory.create(name="Sales")

    as_admin.post(f"/people/{alice.pk}/groups/", {"group": sales.pk})
    as_admin.post(f"/people/{alice.pk}/groups/{support.pk}/leave/")

    assert list(alice.groups.all()) == [sales]
    actions = AuditEntry.objects.filter(target="alice").order_by("pk")
    assert [entry.action for entry in actions] == ["person.joined_group", "person.left_group"]


def test_a_group_that_is_none_is_told(as_admin: Client, alice: User) -> None:
    assert as_admin.post(f"/people/{alice.pk}/groups/", {"group": "0"}).status_code == 422


def test_an_admin_helps_who_has_lost_the_phone(as_admin: Client, alice_with_codes: User) -> None:
    as_admin.post(f"/people/{alice_with_codes.pk}/codes/off/")

    assert is_signed_in(sign_in_as("alice"))
    assert AuditEntry.objects.filter(action="person.two_factor_off", target="alice").exists()


def test_the_command_helps_the_only_admin(alice_with_codes: User) -> None:
    call_command("turn_codes_off", "alice", stdout=StringIO())

    assert is_signed_in(sign_in_as("alice"))
    assert AuditEntry.objects.get(action="person.two_factor_off").by is None
    with pytest.raises(CommandError, match="no user named bob"):
        call_command("turn_codes_off", "bob")


def test_nobody_locks_themselves_out(as_admin: Client, admin: User) -> None:
    TOTP.activate(admin, SECRET)

    for path in ("deactivate", "codes/off"):
        as_admin.post(f"/people/{admin.pk}/{path}/")

    assert User.objects.get(pk=admin.pk).is_active
    assert Authenticator.objects.exists()


def test_only_who_may_do_everything_changes_those_who_may(admin: User, support: Group) -> None:
    clerk = UserFactory.create(is_staff=True)
    client = Client()
    client.force_login(clerk)
    TOTP.activate(admin, SECRET)
    sales = GroupFactory.create()

    for path in ("deactivate/", "codes/off/", f"groups/{support.pk}/leave/"):
        client.post(f"/people/{admin.pk}/{path}")
    client.post(f"/people/{admin.pk}/groups/", {"group": sales.pk})
    client.post("/people/invite/", {"email": "eve@example.com", "role": "admin"})

    assert User.objects.get(pk=admin.pk).is_active
    assert list(admin.groups.all()) == [support]
    assert Authenticator.objects.exists()
    assert not Invitation.objects.exists()
