"""The world and what its pages need to be shown in tests."""

from pathlib import Path

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from acl.redis_circuit import redis_circuit
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
def world(db: None) -> World:
    return build()
