"""Fixtures: an admin's key with the scope, and clients with it."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from acl.keys.lifecycle import create_key
from acl.people.groups import create_group

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"


@pytest.fixture
def root(db: None) -> User:
    return User.objects.create_superuser("root")


@pytest.fixture
def support(root: User) -> Group:
    group = create_group(by=root, name="Support")
    root.groups.add(group)
    return group


@pytest.fixture
def raw_key(root: User, support: Group) -> str:
    return key_of(root)


def key_of(owner: User, *scopes: str, acts_for_users: bool = True) -> str:
    """Return a key for all groups of the owner."""
    wanted = list(scopes) or ["scim"]
    return create_key(
        by=None,
        name="provider",
        all_groups=True,
        scopes=wanted,
        owner=owner,
        acts_for_users=acts_for_users,
    )[1]


class ScimClient(Client):
    """Client for SCIM, with its media type and a key."""

    def __init__(self, raw: str) -> None:
        super().__init__(headers={"Authorization": f"Bearer {raw}"})

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request to a path below scim/v2/."""
        return self.generic(
            method,
            f"/scim/v2/{path}",
            json.dumps(body) if body is not None else "",
            content_type="application/scim+json",
            headers=headers,
        )

    def new_user(self, user_name: str, **more: Any) -> dict[str, Any]:
        """Create a user, and return the resource."""
        answer = self.send("POST", "Users", {"schemas": [USER], "userName": user_name, **more})
        assert answer.status_code == 201, answer.content
        return dict(answer.json())

    def patch_with(self, path: str, *operations: dict[str, Any], **headers: str) -> Any:
        """Send a PATCH."""
        return self.send("PATCH", path, {"schemas": [PATCH], "Operations": operations}, **headers)


@pytest.fixture
def scim(raw_key: str) -> ScimClient:
    return ScimClient(raw_key)
