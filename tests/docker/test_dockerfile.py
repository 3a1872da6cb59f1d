"""The Dockerfile, without an engine: what can be read from it."""

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
LINES = (PROJECT / "docker" / "Dockerfile").read_text().replace("\\\n", " ").splitlines()


def test_last_stage_does_not_run_as_root() -> None:
    last_stage = LINES[max(i for i, line in enumerate(LINES) if line.startswith("FROM")) :]
    users = [line.split()[1] for line in last_stage if line.startswith("USER")]

    assert users[-1:] == ["10001"]


def test_python_is_the_one_of_the_lock_file() -> None:
    bases = [line.split()[1] for line in LINES if line.startswith("FROM")]

    assert bases == ["python:3.11-slim-bookworm"] * 2


def test_packages_are_installed_by_hash() -> None:
    installs = [line for line in LINES if "pip install" in line]

    assert installs
    assert all("--no-deps --require-hashes -r requirements.lock" in line for line in installs)


def test_everything_copied_exists_and_reaches_the_build() -> None:
    sources = _copied()

    allowed = (PROJECT / "docker" / "Dockerfile.dockerignore").read_text().splitlines()
    assert all((PROJECT / source).exists() for source in sources)
    assert {f"!{source}" for source in sources} <= set(allowed)


@pytest.mark.parametrize("app", ["acl", "catalog", "discovery", "marketplace"])
def test_every_app_is_in_the_image(app: str) -> None:
    assert app in _copied()


def test_entrypoint_can_be_executed() -> None:
    assert os.access(PROJECT / "docker" / "entrypoint.sh", os.X_OK)


def _copied() -> list[str]:
    copies = [line.split()[1:] for line in LINES if line.startswith("COPY")]
    return [words[0] for words in copies if not words[0].startswith("--from")]
