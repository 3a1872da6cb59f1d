"""An MCP client's key: alice's own, of support."""

import pytest

from acl.platform.redis_circuit import redis_circuit
from tests.access.people import People, invite
from tests.api.conftest import new_key


@pytest.fixture
def people(db: None) -> People:
    return invite()


@pytest.fixture
def key(people: People) -> str:
    return key_of(people)


@pytest.fixture(autouse=True)
def _working_redis() -> None:
    """A test that broke Redis leaves nothing behind."""
    redis_circuit.close()


def key_of(people: People, *scopes: str) -> str:
    """A key that acts for alice, with all that an assistant needs unless told otherwise."""
    scopes = scopes or ("discover", "execute")
    return new_key(people.support, *scopes, owner=people.alice, acts_for_users=False)
