"""Fixtures: an MCP client's key, owned by alice of support."""

import pytest

from tests.access.people import People
from tests.web.conftest import new_key


@pytest.fixture
def key(people: People) -> str:
    return key_of(people)


def key_of(people: People, *scopes: str) -> str:
    """Create a key that acts for alice, by default with all scopes of an assistant."""
    scopes = scopes or ("discover", "execute")
    return new_key(people.support, *scopes, owner=people.alice, acts_for_users=False)
