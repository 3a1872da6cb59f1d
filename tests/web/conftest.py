"""Fixtures of API tests: backends and browsers."""

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from acl.keys.lifecycle import create_key
from tests.access.people import People


@pytest.fixture
def key(people: People) -> str:
    """A key of support, acting for its users."""
    return new_key(people.support)


def new_key(
    group: Group, *scopes: str, owner: User | None = None, acts_for_users: bool = True
) -> str:
    _, raw = create_key(
        by=None,
        name="backend",
        group=group,
        scopes=list(scopes) or ["select", "discover"],
        owner=owner,
        acts_for_users=acts_for_users,
    )
    return raw


def client_with(raw: str) -> Client:
    """Return a client with the key and a fixed request id, so that answers are comparable."""
    return Client(headers={"Authorization": f"Bearer {raw}", "X-Request-ID": "story"})
