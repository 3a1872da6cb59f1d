"""The admin's pages are looked at, too."""

from pathlib import Path

import pytest
from django.conf import settings
from pytest_django import Settings


@pytest.fixture(autouse=True, scope="session")
def _folder_of_static_files() -> None:
    """Whitenoise warns when it is missing, and here a warning is an error."""
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)


@pytest.fixture(autouse=True)
def _plain_static_files(settings: Settings) -> None:
    """Names of static files without hashes: nothing has to be collected first."""
    plain = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": plain}}
