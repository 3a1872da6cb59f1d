"""People for the stories about rights."""

from collections.abc import Iterator

import pytest
from django.db import transaction
from pytest_django import DjangoDbBlocker

from acl.redis_circuit import redis_circuit
from tests.access.people import People, invite


@pytest.fixture
def people(db: None) -> People:
    return invite()


@pytest.fixture(scope="module")
def invited(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[People]:
    """The same for all tests of a file, in a transaction around theirs that is taken back."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield invite()
        transaction.set_rollback(True)


@pytest.fixture(autouse=True)
def _working_redis() -> None:
    """A test that broke Redis leaves nothing behind."""
    redis_circuit.close()
