"""Fixtures: an MCP client's key, owned by alice of support."""

import pytest

from acl.platform.redis_circuit import redis_circuit
from tests.access.people import People, invite
from tests.web.conftest import new_key


@pytest.fixture
def people(db: None) -> People:
    return invite()


@pytest.fixture
def key(people: People) -> str:
    return key_of(people)


@pytest.fixture(autouse=True)
def _working_redis() -> None:
    """Reset Redis in case a test broke it."""
    redis_circuit.close()


def key_of(people: People, *scopes: str) -> str:
    """Create a key that acts for alice, by default with all scopes of an assistant."""
    scopes = scopes or ("discover", "execute")
    return new_key(people.support, *scopes, owner=people.alice, acts_for_users=False)
