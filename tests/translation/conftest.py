"""Fixtures of the translation tests."""

import pytest
from pytest_django import Settings


@pytest.fixture
def _plain_static(settings: Settings) -> None:
    """Name static files as they are, since tests collect none."""
    plain = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": plain}}
