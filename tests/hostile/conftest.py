"""The world of the hostile tests, and what its pages need in tests."""

import logging
from collections.abc import Iterator
from copy import deepcopy

import pytest
from pytest_django import DjangoDbBlocker, Settings

from tests.databases import check_what_was_deferred, taken_back
from tests.hostile.tables import Contents, contents
from tests.hostile.world import World, build


@pytest.fixture(autouse=True)
def _no_limits(settings: Settings) -> None:
    """Disable rate limits: thousands of requests come from one address."""
    for limit in ("KEY", "PERSON", "ADDRESS"):
        setattr(settings, f"PEGBOARD_RATE_PER_{limit}", 10_000_000)
    settings.PEGBOARD_RATE_WRONG_KEYS = 10_000_000
    settings.PEGBOARD_RATE_REGISTRATIONS = 10_000_000
    settings.AXES_FAILURE_LIMIT = 10_000_000


@pytest.fixture
def logs_are_short() -> Iterator[None]:
    """Shorten logs: lines for thousands of requests take a fifteenth of the time."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def built(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    """The world shared by a file's tests, in a transaction that is rolled back."""
    with taken_back(django_db_blocker):
        made = build()
        check_what_was_deferred()
        yield made


@pytest.fixture(scope="module")
def before(built: World) -> Contents:
    """The contents of all tables in the file's world: each test's changes are rolled back."""
    return contents()


@pytest.fixture
def world(built: World, db: None) -> World:
    """The file's world, with each test's changes rolled back."""
    return deepcopy(built)
