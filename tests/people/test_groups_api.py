"""Groups, members, spaces, grants, people and invitations by API, for admins."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from acl.models import Invitation
from catalog.models import Capability
from tests.sessions import session_of

JSON = "application/json"
GRANTS = "/api/v1/grants"


@pytest.fixture
def as_alice(alice: User) -> Client:
    """A browser beside the admin's."""
    return session_of(alice)


def send(client: Client, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    return client.generic(method, f"/api/v1/{path}", json.dumps(body or {}), JSON)


def test_a_group_lives_and_ends_by_api(as_admin: Client, alice: User, bob: User) -> None:
    made = send(as_admin, "POST", "groups", {"name": "Sales", "open": True})
    assert made.status_code == 201
    pk = made.json()["id"]
    assert made.json() == {
        "id": pk, "name": "Sales", "open": True, "joined_by_default": False, "members": 0,
        "spaces": 1,
    }  # fmt: skip
    assert send(as_admin, "POST", "groups", {"name": "SALES"}).status_code == 422

    changed = send(as_admin, "PATCH", f"groups/{pk}", {"name": "Sellers", "open": False})
    assert (changed.json()["name"], changed.json()["open"]) == ("Sellers", False)

    assert send(as_admin, "POST", f"groups/{pk}/members", {"users": ["bob"]}).status_code == 204
    refused = send(as_admin, "POST", f"groups/{pk}/members", {"users": ["alice", "nobody"]})
    assert (refused.status_code, refused.json()["field"]) == (400, "users")
    members = as_admin.get(f"/api/v1/groups/{pk}/members").json()
    assert [one["user"] for one in members["items"]] == ["bob"]
    going = as_admin.get(f"/api/v1/groups/{pk}/deletion").json()
    assert going == {"members": 1, "without_group": 0, "keys": [], "rows": {"acl.space": 1}}

    assert send(as_admin, "DELETE", f"groups/{pk}/members/bob").status_code == 204
    assert send(as_admin, "DELETE", f"groups/{pk}/members/bob").status_code == 404
    assert send(as_admin, "DELETE", f"groups/{pk}").status_code == 204
    assert as_admin.get(f"/api/v1/groups/{pk}").status_code == 404


def test_groups_are_paged_and_searched(as_admin: Client, support: Group, bob: User) -> None:
    page = as_admin.get("/api/v1/groups", {"limit": 1}).json()
    assert (len(page["items"]), page["total"], page["has_more"]) == (1, 2, True)
    found = as_admin.get("/api/v1/groups", {"query": "supp"}).json()
    assert [one["name"] for one in found["items"]] == [support.name]


def test_leaving_by_api_takes_the_tools_away(
    as_admin: Client, as_alice: Client, support: Group, gmail: Capability
) -> None:
    assert "gmail" in as_alice.get("/api/v1/names").content.decode()

    send(as_admin, "DELETE", f"groups/{support.pk}/members/alice")

    assert "gmail" not in as_alice.get("/api/v1/names").content.decode()


def test_a_person_is_deactivated_and_back(as_admin: Client, as_alice: Client) -> None:
    listed = as_admin.get("/api/v1/people", {"query": "alice"}).json()["items"]
    assert [(one["user"], one["active"]) for one in listed] == [("alice", True)]

    off = send(as_admin, "PATCH", "people/alice", {"active": False})

    assert off.json()["active"] is False
    assert as_alice.get("/api/v1/names").status_code in {401, 403}
    assert send(as_admin, "PATCH", "people/alice", {"active": True}).json()["active"] is True
    assert send(as_admin, "PATCH", "people/alice", {"active": "no"}).status_code == 400
    assert send(as_admin, "PATCH", "people/root", {"active": False}).status_code == 409


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"email": "eve@example.com", "groups": ["Support"]}, 201),
        ({"email": "eve@example.com", "groups": ["None"]}, 400),
        ({"email": "eve", "groups": []}, 400),
        ({"email": "alice@example.com"}, 409),
    ],
)
def test_an_invitation_tells_its_link_once(
    as_admin: Client, support: Group, alice: User, body: dict[str, Any], status: int
) -> None:
    answer = send(as_admin, "POST", "invitations", body)

    assert answer.status_code == status
    assert Invitation.objects.count() == (status == 201)
    if status == 201:
        assert "/invitation/" in answer.json()["link"]
        assert answer.json()["groups"] == ["Support"]


def test_a_space_is_made_renamed_moved_and_deleted(as_admin: Client, support: Group) -> None:
    spaces = f"groups/{support.pk}/spaces"
    lisbon = send(as_admin, "POST", spaces, {"name": "Lisbon"}).json()
    assert (lisbon["slug"], lisbon["parent"], lisbon["group"]) == ("lisbon", "root", "Support")
    porto = send(as_admin, "POST", spaces, {"name": "Porto", "parent": "lisbon"}).json()
    assert send(as_admin, "POST", spaces, {"name": "x", "parent": "none"}).status_code == 400

    below_itself = {"name": "Other", "parent": "porto"}
    assert send(as_admin, "PATCH", f"spaces/{lisbon['id']}", below_itself).status_code == 422
    moved = send(as_admin, "PATCH", f"spaces/{porto['id']}", {"name": "Faro", "parent": "root"})
    assert (moved.json()["name"], moved.json()["slug"]) == ("Faro", "porto")
    assert send(as_admin, "DELETE", f"spaces/{lisbon['id']}").status_code == 204

    left = as_admin.get(f"/api/v1/{spaces}").json()
    assert [(one["name"], one["parent"]) for one in left] == [("Faro", "root"), ("Root", None)]
    assert as_admin.get("/api/v1/spaces", {"group": "Support"}).json() == left
    root = next(one["id"] for one in left if one["parent"] is None)
    assert send(as_admin, "DELETE", f"spaces/{root}").status_code == 422


def test_spaces_are_reached_by_the_name_of_their_group(as_admin: Client, support: Group) -> None:
    new = {"group": "Support", "name": "Lisbon", "parent": "root"}

    made = send(as_admin, "POST", "spaces", new)
    nowhere = send(as_admin, "POST", "spaces", new | {"group": "None"})
    unnamed = as_admin.get("/api/v1/spaces")

    assert made.status_code == 201
    assert made.json()["slug"] == "lisbon"
    assert (nowhere.status_code, nowhere.json()["field"]) == (400, "group")
    assert (unnamed.status_code, unnamed.json()["field"]) == (400, "group")


def test_a_grant_given_and_revoked_by_api_decides_the_next_request(
    as_admin: Client, as_alice: Client, support: Group, gmail: Capability
) -> None:
    one = {"group": "Support", "integration": "gmail"}
    listed = {"integrations": ["gmail"], "capabilities": []}
    assert as_admin.get(GRANTS, {"group": "Support"}).json() == listed

    assert (
        as_admin.delete("/api/v1/access/grants?group=Support&integration=gmail").status_code == 204
    )
    assert "gmail" not in as_alice.get("/api/v1/names").content.decode()
    statuses = [send(as_admin, "POST", "grants", one).status_code for _ in range(2)]
    assert statuses == [201, 200]
    assert "gmail" in as_alice.get("/api/v1/names").content.decode()

    alone = {"user": "alice", "capability": gmail.full_name}
    assert send(as_admin, "POST", "access/grants", alone).json() == alone
    hers = as_admin.get(GRANTS, {"user": "alice"}).json()
    assert hers == {"integrations": [], "capabilities": [gmail.full_name]}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"group": "Support"}, "integration"),
        ({"group": "Support", "user": "alice", "integration": "gmail"}, "user"),
        ({"group": "None", "integration": "gmail"}, "group"),
        ({"group": "Support", "capability": "none"}, "capability"),
        ({"group": "Support", "integration": "gmail", "more": 1}, "more"),
    ],
)
def test_a_grant_needs_one_of_each(
    as_admin: Client, gmail: Capability, body: dict[str, Any], field: str
) -> None:
    answer = send(as_admin, "POST", "access/grants", body)

    assert (answer.status_code, answer.json()["field"]) == (400, field)
