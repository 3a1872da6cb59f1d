"""Fixtures: alice of support and charlie of finance with the same catalogue."""

import pytest

from tests.access.people import People, invite


@pytest.fixture
def people(db: None) -> People:
    return invite()
