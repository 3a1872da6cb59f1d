"""The same people as in the stories about rights."""

import pytest

from acl.platform.redis_circuit import redis_circuit
from tests.access.people import People, invite


@pytest.fixture
def people(db: None) -> People:
    return invite()


@pytest.fixture(autouse=True)
def _working_redis() -> None:
    """A test that broke Redis leaves nothing behind."""
    redis_circuit.close()
