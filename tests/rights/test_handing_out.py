"""All ways to grant power: who may, and who may not.

`root` is a superuser, `staff` an admin without further permissions, `deputy` an admin who may act
for others; alice is a member of support and charlie of finance.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.db import transaction
from django.test import Client

from acl.keys.lifecycle import create_key
from acl.models import ApiKey, Invitation, ServiceAccount
from acl.people._invitations import invite
from tests.access.people import People
from tests.factories import UserFactory
from tests.sessions import session_of
from tests.web.conftest import client_with

KEYS = "/api/v1/keys"
JSON = "application/json"


@dataclass(frozen=True)
class Cast:
    people: People
    root: User
    staff: User
    deputy: User
    robot: User

    def actor(self, name: str) -> Client:
        """Return a person's session, or a client with a key that the operator made for them."""
        if name in KINDS:
            return client_with(create_key(by=None, name=name, **KINDS[name](self))[1])
        return session_of(getattr(self.people if name == "alice" else self, name))


ALL = ["select", "discover", "execute", "admin"]
# The actors' credentials: owner and power of the key.
KINDS: dict[str, Callable[[Cast], dict[str, Any]]] = {
    "group key": lambda c: {"group": c.people.support, "scopes": ["admin"]},
    "backend key": lambda c: {
        "group": c.people.support, "scopes": [*ALL], "acts_for_users": True,
    },
    "key of staff": lambda c: {"group": c.people.support, "scopes": [*ALL], "owner": c.staff},
    "key of root": lambda c: {
        "group": c.people.support, "scopes": [*ALL], "owner": c.root, "acts_for_users": True,
    },
    "registering key": lambda c: {
        "group": c.people.support, "scopes": ["admin", "register"], "acts_for_users": True,
    },
}  # fmt: skip


@pytest.fixture
def cast(people: People) -> Cast:
    support = people.support
    root = UserFactory.create(username="root", is_staff=True, is_superuser=True, groups=[support])
    staff = UserFactory.create(username="staff", is_staff=True, groups=[support])
    deputy = UserFactory.create(username="deputy", is_staff=True, groups=[support])
    deputy.user_permissions.add(Permission.objects.get(codename="act_for_others"))
    robot = UserFactory.create(username="robot", password="!", groups=[support])
    ServiceAccount.objects.create(user=robot)
    return Cast(people, root, staff, deputy, robot)


KEY = {"name": "new", "group": "support"}
# The requested key, and the status that each actor gets.
WANTED: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "the scope admin alone": (
        {**KEY, "scopes": ["admin"]},
        {"root": 201, "staff": 201, "group key": 201, "backend key": 201, "key of staff": 201,
         "alice": 403},
    ),
    "acting for users": (
        {**KEY, "scopes": ["select"], "acts_for_users": True},
        {"root": 201, "deputy": 201, "staff": 403, "group key": 403, "backend key": 201,
         "key of staff": 403, "key of root": 201, "alice": 403},
    ),
    "acting and executing": (
        {**KEY, "scopes": ["execute"], "acts_for_users": True},
        {"staff": 403, "deputy": 201, "group key": 403, "backend key": 201, "key of staff": 403},
    ),
    "owned by a superuser": (
        {**KEY, "scopes": ["admin"], "owner": "root"},
        {"root": 201, "key of root": 201, "staff": 403, "deputy": 403, "group key": 403,
         "backend key": 403, "key of staff": 403},
    ),
    "owned by an admin": (
        {**KEY, "scopes": ["admin"], "owner": "staff"},
        {"root": 201, "staff": 201, "deputy": 201, "group key": 403, "backend key": 403,
         "key of staff": 201},
    ),
    "owned by a member": (
        {**KEY, "scopes": ["select"], "owner": "alice"},
        {"root": 201, "deputy": 201, "staff": 403, "group key": 403, "backend key": 201,
         "key of staff": 403},
    ),
    "owned by a member, with admin": (
        {**KEY, "scopes": ["admin"], "owner": "alice"},
        {"root": 201, "deputy": 201, "staff": 403, "group key": 403, "backend key": 403},
    ),
    "owned by a service account": (
        {**KEY, "scopes": ["select"], "owner": "robot"},
        {"root": 201, "staff": 201, "key of staff": 201, "group key": 403, "backend key": 201},
    ),
    "registering": (
        {**KEY, "scopes": ["register"], "owner": "robot"},
        {"root": 201, "staff": 201, "deputy": 201, "registering key": 201, "group key": 403,
         "backend key": 403, "key of staff": 403, "key of root": 403, "alice": 403},
    ),
    "registering for users": (
        {**KEY, "scopes": ["admin", "register"], "acts_for_users": True},
        {"root": 201, "deputy": 201, "registering key": 201, "staff": 403, "backend key": 403,
         "key of root": 403},
    ),
    "for another group": (
        {**KEY, "group": "finance", "scopes": ["admin"]},
        {"root": 201, "staff": 201, "group key": 403, "key of staff": 403, "key of root": 403},
    ),
    "for two groups": (
        {"name": "new", "groups": ["support", "finance"], "scopes": ["admin"]},
        {"root": 201, "staff": 201, "group key": 403, "backend key": 403, "key of root": 403},
    ),
    "for all groups": (
        {"name": "new", "all_groups": True, "scopes": ["select"], "acts_for_users": True},
        {"root": 201, "deputy": 201, "staff": 403, "group key": 403, "backend key": 403,
         "key of root": 403},
    ),
    "for all groups of its own": (
        {"name": "new", "all_groups": True, "scopes": ["select"], "owner": "staff"},
        {"staff": 201, "key of staff": 403, "group key": 403},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "statuses"), WANTED.values(), ids=WANTED)
def test_a_key_is_created_by_who_holds_as_much(
    cast: Cast, body: dict[str, Any], statuses: dict[str, int]
) -> None:
    for actor, status in statuses.items():
        with transaction.atomic():
            client = cast.actor(actor)
            before = ApiKey.objects.count()

            answer = client.post(KEYS, json.dumps(body), JSON)

            assert answer.status_code == status, (actor, answer.content)
            assert ApiKey.objects.count() == before + (status == 201), actor
            transaction.set_rollback(True)


# The old key, and who may receive its successor.
ROTATED: dict[str, tuple[Callable[[Cast], dict[str, Any]], dict[str, int]]] = {
    "of a superuser": (
        KINDS["key of root"],
        {"root": 201, "staff": 403, "deputy": 403, "group key": 403, "key of staff": 403},
    ),
    "of an admin": (
        KINDS["key of staff"],
        {"staff": 201, "root": 201, "deputy": 201, "group key": 403, "backend key": 403},
    ),
    "of a backend": (
        KINDS["backend key"],
        {"root": 201, "deputy": 201, "staff": 403, "group key": 403, "backend key": 201},
    ),
    "of the group": (KINDS["group key"], {"staff": 201, "group key": 201, "alice": 403}),
    "that registers": (
        KINDS["registering key"],
        {
            "root": 201,
            "deputy": 201,
            "registering key": 201,
            "staff": 403,
            "group key": 403,
            "backend key": 403,
            "key of root": 403,
            "alice": 403,
        },
    ),
}


@pytest.mark.parametrize(("old", "statuses"), ROTATED.values(), ids=ROTATED)
def test_a_successor_goes_to_who_could_create_such_a_key(
    cast: Cast, old: Callable[[Cast], dict[str, Any]], statuses: dict[str, int]
) -> None:
    for actor, status in statuses.items():
        with transaction.atomic():
            key, _ = create_key(by=None, name="old", **old(cast))
            client = cast.actor(actor)

            answer = client.post(f"{KEYS}/{key.pk}/rotate", "{}", JSON)
            page = client.post(f"/keys/{key.pk}/replace/", {"overlap": "60", "lifetime": "365"})

            assert answer.status_code == status, (actor, answer.content)
            on_the_page = {"alice": 404, **dict.fromkeys(KINDS, 302)}
            expected = on_the_page.get(actor, {201: 200, 403: 422}[status])
            assert page.status_code == expected, actor
            transaction.set_rollback(True)


def test_a_refusal_names_the_field_that_asks_for_too_much(cast: Cast) -> None:
    body = {**KEY, "scopes": ["admin"], "owner": "root"}

    problem = cast.actor("staff").post(KEYS, json.dumps(body), JSON).json()

    assert (problem["status"], problem["field"]) == (403, "owner")


def test_a_key_that_ends_makes_none_that_lasts_longer(cast: Cast) -> None:
    short, raw = create_key(
        by=None, name="short", group=cast.people.support, scopes=["admin"], owner=cast.staff
    )
    ApiKey.objects.filter(pk=short.pk).update(expires_at="2099-01-01T00:00:00Z")
    client = client_with(raw)
    wanted = {**KEY, "scopes": ["admin"]}

    later = client.post(KEYS, json.dumps({**wanted, "expires_at": "2099-06-01T00:00:00Z"}), JSON)
    same = client.post(KEYS, json.dumps(wanted), JSON)

    assert (later.status_code, later.json()["field"]) == (403, "expires_at")
    assert same.json()["expires_at"].startswith("2099-01-01")


def test_staff_get_no_superusers_key_from_the_page(cast: Cast) -> None:
    typed = {
        "name": "mine", "groups": [cast.people.support.pk], "scopes": ["admin"],
        "whom": "owner", "owner": "root", "lifetime": "30",
    }  # fmt: skip

    answer = cast.actor("staff").post("/keys/new/", typed)

    assert answer.status_code == 422
    assert "would act as another person" in answer.content.decode()
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize(("actor", "status"), [("staff", 200), ("alice", 404), ("group key", 302)])
def test_scope_register_is_given_on_the_page_by_who_holds_it(
    cast: Cast, actor: str, status: int
) -> None:
    typed = {
        "name": "maker", "groups": [cast.people.support.pk], "scopes": ["register"],
        "whom": "owner", "owner": "staff", "lifetime": "30",
    }  # fmt: skip

    answer = cast.actor(actor).post("/keys/new/", typed)

    assert answer.status_code == status
    assert ApiKey.objects.filter(scopes=["register"]).exists() == (actor == "staff")


def test_refused_scope_is_named(cast: Cast) -> None:
    body = {**KEY, "scopes": ["admin", "register"], "acts_for_users": True}

    problem = cast.actor("key of root").post(KEYS, json.dumps(body), JSON).json()

    assert (problem["field"], "register" in problem["detail"]) == ("scopes", True)
    assert "admin" not in problem["detail"]


def trusted_with(person: User, *codenames: str) -> None:
    """Give an admin access to these parts of Django's admin."""
    person.user_permissions.add(*Permission.objects.filter(codename__in=codenames))


def test_djangos_admin_gives_no_flag_that_the_giver_lacks(cast: Cast) -> None:
    trusted_with(cast.deputy, "change_user", "view_user")
    page = f"/admin/auth/user/{cast.people.alice.pk}/change/"
    form = {
        "username": "alice", "is_active": "on", "is_staff": "on", "is_superuser": "on",
        "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00",
    }  # fmt: skip

    answer = cast.actor("deputy").post(page, form)

    assert "Only a superuser can make someone a superuser." in answer.content.decode()
    cast.people.alice.refresh_from_db()
    assert not cast.people.alice.is_superuser


def test_djangos_admin_gives_no_permission_that_the_giver_lacks(cast: Cast) -> None:
    trusted_with(cast.staff, "change_group", "view_group", "view_permission")
    group = cast.people.support
    wanted = Permission.objects.get(codename="install_stdio")
    form = {
        "name": group.name, "permissions": [wanted.pk],
        **{f"policy-{name}": 0 for name in ("TOTAL_FORMS", "INITIAL_FORMS")},
        **{f"spaces-{name}": 0 for name in ("TOTAL_FORMS", "INITIAL_FORMS")},
    }  # fmt: skip

    cast.actor("staff").post(f"/admin/auth/group/{group.pk}/change/", form)

    assert not group.permissions.exists()


@pytest.mark.parametrize("path", ["change/", "password/"])
def test_djangos_admin_sets_nobodys_password_without_acting_for_them(cast: Cast, path: str) -> None:
    trusted_with(cast.staff, "change_user", "view_user")
    victim = cast.deputy
    before = victim.password
    strong = "correct horse battery staple"

    answer = cast.actor("staff").post(
        f"/admin/auth/user/{victim.pk}/{path}",
        {"password1": strong, "password2": strong, "email": "evil@example.com"},
    )

    victim.refresh_from_db()
    assert answer.status_code == 403
    assert (victim.password, victim.email) == (before, "")


def test_membership_brings_nobody_permissions_that_the_giver_lacks(cast: Cast) -> None:
    installers = Group.objects.create(name="installers")
    installers.permissions.add(Permission.objects.get(codename="install_stdio"))

    cast.actor("staff").post(f"/people/{cast.staff.pk}/groups/", {"group": installers.pk})
    cast.actor("root").post(f"/people/{cast.deputy.pk}/groups/", {"group": installers.pk})

    assert list(installers.user_set.all()) == [cast.deputy]


def test_an_invitation_is_worth_what_its_sender_is_when_it_is_accepted(cast: Cast) -> None:
    installers = Group.objects.create(name="installers")
    _, raw = invite(by=cast.staff, email="eve@example.com", groups=[installers])
    installers.permissions.add(Permission.objects.get(codename="install_stdio"))
    strong = "correct horse battery staple"

    Client().post(
        f"/invitation/{raw}/", {"username": "eve", "password1": strong, "password2": strong}
    )

    assert not User.objects.filter(username="eve").exists()
    assert Invitation.objects.get().accepted_at is None


def test_a_promotion_of_its_owner_raises_no_key(cast: Cast) -> None:
    _, raw = create_key(
        by=None, name="early", group=cast.people.support, scopes=["admin"], owner=cast.people.alice
    )
    User.objects.filter(pk=cast.people.alice.pk).update(is_staff=True, is_superuser=True)

    assert client_with(raw).get("/api/v1/sources").status_code == 403


LOSSES: dict[str, Callable[[User, Group], Any]] = {
    "is deactivated": lambda one, _: User.objects.filter(pk=one.pk).update(is_active=False),
    "is no longer an admin": lambda one, _: User.objects.filter(pk=one.pk).update(is_staff=False),
    "has left the group": lambda one, group: group.user_set.remove(one),
}


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES)
def test_a_key_stops_when_its_owner(cast: Cast, lose: Callable[[User, Group], Any]) -> None:
    client = cast.actor("key of staff")
    before = client.get(KEYS).status_code

    lose(cast.staff, cast.people.support)

    assert (before, client.get(KEYS).status_code) == (200, 401)


def test_revoking_a_key_ends_what_was_made_with_it(cast: Cast) -> None:
    client = cast.actor("group key")
    body = json.dumps({**KEY, "scopes": ["admin"]})
    child = client_with(client.post(KEYS, body, JSON).json()["key"])
    grandchild = client_with(child.post(KEYS, body, JSON).json()["key"])
    own = ApiKey.objects.get(name="group key")
    rotated = client_with(client.post(f"{KEYS}/{own.pk}/rotate", "{}", JSON).json()["key"])

    root = cast.actor("root")
    page = root.get(f"/keys/{own.pk}/revoke/").content.decode()
    root.post(f"/keys/{own.pk}/revoke/")

    assert "These keys were created with it and will also be revoked" in page
    answers = [one.get(KEYS).status_code for one in (client, child, grandchild, rotated)]
    assert answers == [401, 401, 401, 401]
