"""People and groups by SCIM: who comes, changes and leaves, and what a client may not do."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import Group, Permission, User
from django.contrib.sessions.models import Session
from django.core import signals
from django.core.handlers.wsgi import WSGIHandler
from django.db import close_old_connections
from django.test import Client

from acl.keys.lifecycle import create_key
from acl.models import ApiKey, AuditEntry, ServiceAccount
from acl.people.groups import create_group
from acl.people.languages import Origin, keep_language
from acl.people.people import add_to_group, person_to_link
from discovery.models import Turn
from tests.factories import UserFactory
from tests.scim.conftest import GROUP, USER, ScimClient, key_of
from tests.sessions import session_of

pytestmark = pytest.mark.django_db


def test_a_provisioned_person_can_sign_in_by_the_provider_only(scim: ScimClient) -> None:
    made = scim.new_user(
        "alice@example.com",
        name={"givenName": "Alice", "familyName": "Lee"},
        emails=[{"value": "Alice@example.com", "primary": True}],
        externalId="00u1",
        title="An attribute that Pegboard has not",
    )

    alice = User.objects.get(username="alice@example.com")
    assert (alice.get_full_name(), alice.is_staff, alice.has_usable_password()) == (
        "Alice Lee",
        False,
        False,
    )
    assert person_to_link(["alice@example.com"]) == alice
    assert (made["id"], made["externalId"], made["active"]) == (str(alice.pk), "00u1", True)
    assert made["meta"]["location"].endswith(f"/scim/v2/Users/{alice.pk}")


def test_the_provider_s_language_is_kept_until_the_person_chooses_one(scim: ScimClient) -> None:
    made = scim.new_user("alice", preferredLanguage="de-AT")
    alice = User.objects.get(username="alice")
    change = {"op": "replace", "path": "preferredLanguage", "value": "es"}
    scim.patch_with(f"Users/{made['id']}", change)
    changed = scim.send("GET", f"Users/{made['id']}")
    keep_language(person=alice, code="en", origin=Origin.PERSON)
    scim.patch_with(f"Users/{made['id']}", change | {"value": "de"})

    assert made["preferredLanguage"] == "de-AT"
    assert changed.json()["preferredLanguage"] == "es"
    assert scim.send("GET", f"Users/{made['id']}").json()["preferredLanguage"] == "en"


def test_deactivation_ends_sessions_and_keys_at_once(scim: ScimClient, support: Group) -> None:
    made = scim.new_user("alice")
    alice = User.objects.get(username="alice")
    alice.groups.add(support)
    browser = session_of(alice)
    _, raw = create_key(by=None, name="own", group=support, scopes=["discover"], owner=alice)
    other = Client(headers={"Authorization": f"Bearer {raw}"})
    before = [one.get("/api/v1/categories").status_code for one in (browser, other)]

    answer = scim.patch_with(
        f"Users/{made['id']}", {"op": "replace", "path": "active", "value": False}
    )

    after = [one.get("/api/v1/categories").status_code for one in (browser, other)]
    assert answer.status_code in (200, 204)
    assert (before, after) == ([200, 200], [401, 401])
    assert not Session.objects.exists()


def test_deletion_leaves_no_key_and_no_group(scim: ScimClient, support: Group) -> None:
    made = scim.new_user("alice")
    alice = User.objects.get(username="alice")
    alice.groups.add(support)
    create_key(by=None, name="own", group=support, scopes=["discover"], owner=alice)

    answer = scim.send("DELETE", f"Users/{made['id']}")

    alice.refresh_from_db()
    assert answer.status_code == 204
    assert scim.send("GET", f"Users/{made['id']}").status_code == 404
    assert (alice.is_active, alice.groups.exists()) == (False, False)
    assert not ApiKey.objects.filter(owner=alice).exists()
    assert scim.send("GET", 'Users?filter=userName eq "alice"').json()["totalResults"] == 0


def test_who_comes_back_gets_another_account_without_groups(
    scim: ScimClient, support: Group
) -> None:
    made = scim.new_user("alice")
    User.objects.get(username="alice").groups.add(support)
    scim.send("DELETE", f"Users/{made['id']}")

    again = scim.new_user("alice")

    assert again["id"] != made["id"]
    assert "groups" not in again
    assert User.objects.get(username="alice").is_active


def test_members_come_and_go_by_patch(scim: ScimClient, support: Group) -> None:
    alice, bob = scim.new_user("alice"), scim.new_user("bob")
    members = [{"value": alice["id"]}, {"value": bob["id"]}]
    scim.patch_with(f"Groups/{support.pk}", {"op": "add", "path": "members", "value": members})

    path = f'members[value eq "{alice["id"]}"]'
    scim.patch_with(f"Groups/{support.pk}", {"op": "remove", "path": path})

    names = set(support.user_set.values_list("username", flat=True))
    assert names == {"root", "bob"}
    actions = AuditEntry.objects.filter(target="alice").values_list("action", "key_name")
    assert ("person.left_group", "provider") in actions


def test_replacing_members_keeps_service_accounts(scim: ScimClient, support: Group) -> None:
    robot = UserFactory.create(username="robot", groups=[support], password="!")
    ServiceAccount.objects.create(user=robot)
    body = {"schemas": [GROUP], "displayName": "Support", "members": []}

    answer = scim.send("PUT", f"Groups/{support.pk}", body)

    assert answer.status_code == 200
    assert list(support.user_set.values_list("username", flat=True)) == ["robot"]
    assert scim.send("GET", f"Users/{robot.pk}").status_code == 404


def test_a_new_group_is_allow_listed_and_empty(scim: ScimClient) -> None:
    made = scim.send("POST", "Groups", {"schemas": [GROUP], "displayName": "Sales"}).json()

    group = Group.objects.get(name="Sales")
    assert (made["id"], group.policy.open_default) == (str(group.pk), False)


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"schemas": [USER], "userName": "ROOT"}, 409, "uniqueness"),
        ({"schemas": [USER]}, 400, "invalidValue"),
        ({"schemas": [USER], "userName": "аdmin"}, 400, "invalidValue"),  # noqa: RUF001 - Cyrillic
        ({"schemas": [USER], "userName": "a", "emails": [{"value": "no"}]}, 400, "invalidValue"),
        ({"schemas": [USER], "userName": "a" * 200}, 400, "invalidValue"),
        ({"schemas": [USER], "userName": "a\x00"}, 400, "invalidSyntax"),
        ([[[[[]]]]], 400, "invalidSyntax"),
    ],
)
def test_an_unusable_user_is_refused(scim: ScimClient, body: Any, status: int, kind: str) -> None:
    answer = scim.send("POST", "Users", body)

    assert (answer.status_code, answer.json()["scimType"]) == (status, kind)
    assert answer["Content-Type"] == "application/scim+json"
    assert not User.objects.filter(username__startswith="a").exists()


def test_a_version_that_has_passed_changes_nothing(scim: ScimClient) -> None:
    made = scim.new_user("alice")
    path = f"Users/{made['id']}"
    version = scim.send("GET", path)["ETag"]
    change = {"op": "replace", "path": "name.givenName", "value": "Alice"}
    scim.patch_with(path, change, **{"If-Match": version})

    late = scim.patch_with(path, {**change, "value": "Bob"}, **{"If-Match": version})
    same = scim.send("GET", path, **{"If-None-Match": scim.send("GET", path)["ETag"]})

    assert (late.status_code, same.status_code) == (412, 304)
    assert User.objects.get(username="alice").first_name == "Alice"


def test_filters_pages_and_order(scim: ScimClient) -> None:
    for name in ("carol", "alice", "bob"):
        scim.new_user(name, externalId=f"x-{name}", emails=[{"value": f"{name}@example.com"}])

    def names(query: str) -> list[str]:
        answer = scim.send("GET", f"Users?{query}").json()
        return [one["userName"] for one in answer.get("Resources", [])]

    assert names('filter=userName eq "ALICE"') == ["alice"]
    assert names('filter=externalId eq "x-bob"') == ["bob"]
    assert names('filter=emails.value co "carol" and active eq true') == ["carol"]
    assert names('filter=userName sw "a" or userName sw "b"&sortBy=userName') == ["alice", "bob"]
    assert names("startIndex=2&count=2") == ["carol", "alice"]
    assert names("sortBy=userName&sortOrder=descending&count=2") == ["root", "carol"]
    assert scim.send("GET", "Users?filter=userName eq").status_code == 400


def test_an_address_changes_only_by_a_key_that_acts_for_users(
    root: User, support: Group, scim: ScimClient
) -> None:
    made = scim.new_user("alice", emails=[{"value": "alice@example.com", "primary": True}])
    carol = UserFactory.create(username="carol", is_staff=True, groups=[support])
    weak = ScimClient(key_of(carol, acts_for_users=False))
    change = {"op": "replace", "path": "emails", "value": [{"value": "mallory@example.com"}]}

    answer = weak.patch_with(f"Users/{made['id']}", change)

    assert answer.status_code == 403
    assert EmailAddress.objects.get(user__username="alice").email == "alice@example.com"
    assert scim.patch_with(f"Users/{made['id']}", change).status_code in (200, 204)


def test_coming_back_brings_nothing_of_the_old_account(support: Group, scim: ScimClient) -> None:
    emails = [{"value": "alice@example.com", "primary": True}]
    made = scim.new_user("alice", emails=emails)
    turn = Turn.objects.create(user_id=int(made["id"]), group=support)
    scim.send("DELETE", f"Users/{made['id']}")

    again = scim.new_user("alice", emails=emails)

    turn.refresh_from_db()
    assert str(turn.user_id) == made["id"] != again["id"]
    assert EmailAddress.objects.get(user__username="alice").email == "alice@example.com"


def test_a_client_never_gets_beyond_its_holder(root: User, support: Group) -> None:
    carol = UserFactory.create(username="carol", is_staff=True, groups=[support])
    strong = create_group(by=root, name="Strong")
    strong.permissions.add(Permission.objects.get(codename="act_for_others"))
    client = ScimClient(key_of(carol, acts_for_users=False))
    off = {"op": "replace", "path": "active", "value": False}
    join = {"op": "add", "path": "members", "value": [{"value": str(carol.pk)}]}

    refused = [
        client.patch_with(f"Users/{root.pk}", off),
        client.patch_with(f"Users/{carol.pk}", off),
        client.patch_with(f"Groups/{strong.pk}", join),
        client.send("DELETE", f"Users/{root.pk}"),
    ]

    assert [answer.status_code for answer in refused] == [403] * 4
    assert User.objects.get(pk=root.pk).is_active
    assert not strong.user_set.exists()


def test_only_an_admins_key_with_the_scope_gets_in(root: User, support: Group) -> None:
    alice = UserFactory.create(username="alice", groups=[support])
    member = ScimClient(key_of(alice, acts_for_users=False))
    other = ScimClient(key_of(root, "admin", "select"))
    nobody = ScimClient("pb_nothing")
    admin = session_of(root)

    statuses = [one.send("GET", "Users").status_code for one in (member, other, nobody)]

    assert statuses == [403, 403, 401]
    assert admin.get("/scim/v2/Users").status_code == 401
    assert nobody.send("GET", "Users")["Content-Type"] == "application/scim+json"


def test_a_list_takes_as_many_statements_for_twenty_as_for_two(
    scim: ScimClient, root: User, support: Group, django_assert_max_num_queries: Any
) -> None:
    def statements() -> int:
        with django_assert_max_num_queries(40) as counted:
            scim.send("GET", "Users")
            scim.send("GET", "Groups")
        return len(counted)

    statements()
    two = statements()
    for number in range(20):
        person = UserFactory.create(username=f"person-{number}")
        add_to_group(by=root, person=person, group=support)

    assert statements() == two


if TYPE_CHECKING:
    from scim2_client.engines.wsgi import WSGISCIMClient


@pytest.fixture
def wsgi_client(raw_key: str) -> "Iterator[WSGISCIMClient]":
    """A SCIM client of the whole application, without a socket between them."""
    # Imported here: it takes two seconds, which every process that collects tests would spend.
    from scim2_client.engines.wsgi import WSGISCIMClient

    # They would end the test's own transaction.
    for signal in (signals.request_started, signals.request_finished):
        signal.disconnect(close_old_connections)
    yield WSGISCIMClient(
        WSGIHandler(),
        base_url="http://testserver/scim/v2",
        headers={"Authorization": f"Bearer {raw_key}"},
    )
    for signal in (signals.request_started, signals.request_finished):
        signal.connect(close_old_connections)


@pytest.mark.long
def test_the_server_conforms(wsgi_client: "WSGISCIMClient") -> None:
    from scim2_tester import Status, check_server

    results = check_server(wsgi_client)

    bad = [
        f"{one.title}: {one.reason}"
        for one in results
        if one.status in (Status.ERROR, Status.CRITICAL)
        # An account without the attribute is active: there is no third state to return.
        and str(one.reason) != "Attribute 'active' was not removed"
    ]
    assert not bad, "\n".join(bad)
    assert sum(one.status == Status.SUCCESS for one in results) > 30
