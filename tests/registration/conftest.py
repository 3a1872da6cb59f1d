"""Fixtures: watched folders in a temporary place, and a small embedder."""

from pathlib import Path

import pytest

from tests.catalog.conftest import embedder as embedder  # both are autouse
from tests.catalog.conftest import sent as sent
from tests.registration.folders import Folders


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path / "home", tmp_path / "here")
