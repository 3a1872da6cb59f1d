"""Fixtures of applications: alice's group has gmail and a page of the wiki."""

import pytest

from acl.platform.redis_circuit import redis_circuit
from tests.access.people import People, invite


@pytest.fixture
def people(db: None) -> People:
    return invite()


@pytest.fixture(autouse=True)
def _working_redis() -> None:
    """Reset Redis in case a test broke it."""
    redis_circuit.close()
