"""The world and what its pages need to be shown in tests."""

import logging
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from pytest_django import DjangoDbBlocker, Settings

from acl.platform.redis_circuit import redis_circuit
from tests.databases import taken_back
from tests.hostile.world import World, build


@pytest.fixture(autouse=True)
def _plain_static_files(settings: Settings) -> None:
    """Nobody has collected the static files, and their hashed names are not known."""
    Path(django_settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
    plain = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": plain}}


@pytest.fixture(autouse=True)
def _no_limits(settings: Settings) -> None:
    """Thousands of requests from one address: limits have tests of their own."""
    for limit in ("KEY", "ADDRESS"):
        setattr(settings, f"PEGBOARD_RATE_PER_{limit}", 10_000_000)
    settings.PEGBOARD_RATE_WRONG_KEYS = 10_000_000
    settings.AXES_FAILURE_LIMIT = 10_000_000


@pytest.fixture(autouse=True)
def _working_redis() -> None:
    """A test that broke Redis leaves nothing behind."""
    redis_circuit.close()


@pytest.fixture
def logs_are_short() -> Iterator[None]:
    """Without a line for each of thousands of requests, a fifteenth of what they cost."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def built(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    """One world for all tests of a file, in a transaction around theirs that is taken back."""
    with taken_back(django_db_blocker):
        yield build()


@pytest.fixture
def world(built: World, db: None) -> World:
    """The file's world as if it had just been made: what a test does to it is undone."""
    return deepcopy(built)
