"""Fixtures for tests of rights."""

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker

from tests.access.people import People, invite
from tests.databases import check_what_was_deferred, taken_back


@pytest.fixture(scope="module")
def invited(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[People]:
    """The invited people, shared by all tests of a file."""
    with taken_back(django_db_blocker):
        made = invite()
        check_what_was_deferred()
        yield made
