"""Groups, members, people and invitations by API, for admins."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from acl.models import Invitation
from catalog.models import Capability

JSON = "application/json"


@pytest.fixture
def as_alice(alice: User) -> Client:
    """A browser beside the admin's."""
    client = Client()
    client.force_login(alice)
    return client


def send(client: Client, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    return client.generic(method, f"/api/v1/{path}", json.dumps(body or {}), JSON)


def test_a_group_lives_and_ends_by_api(as_admin: Client, alice: User, bob: User) -> None:
    made = send(as_admin, "POST", "groups", {"name": "Sales", "open": True})
    assert made.status_code == 201
    pk = made.json()["id"]
    assert made.json() == {"id": pk, "name": "Sales", "open": True, "members": 0, "spaces": 1}
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
