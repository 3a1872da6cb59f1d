"""Fixtures of tests of the graph, including the admin's pages."""

from pathlib import Path

import pytest
from django.conf import settings
from pytest_django import Settings


@pytest.fixture(autouse=True, scope="session")
def _folder_of_static_files() -> None:
    """Create the folder of static files, for whose absence Whitenoise warns."""
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)


@pytest.fixture(autouse=True)
def _plain_static_files(settings: Settings) -> None:
    """Serve static files without hashed names, so that they need not be collected."""
    plain = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": plain}}
