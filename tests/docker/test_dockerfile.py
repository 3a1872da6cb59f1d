"""The Dockerfile, without an engine: linted and inspected."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
DOCKERFILE = PROJECT / "docker" / "Dockerfile"
LINES = DOCKERFILE.read_text().replace("\\\n", " ").splitlines()
PYTHON = "python:3.11-slim-bookworm"


def test_linter_has_nothing_to_say() -> None:
    linter = Path(sys.executable).with_name("hadolint")

    answer = subprocess.run(  # noqa: S603
        # The one rule that we break on purpose: two COPYs have different targets.
        [linter, "--no-color", "--ignore=DL3059", DOCKERFILE],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (answer.returncode, answer.stdout) == (0, "")


@pytest.mark.parametrize("stage", ["pegboard", "connections"])
def test_stages_that_run_do_not_run_as_root(stage: str) -> None:
    users = [line.split()[1] for line in _stages()[stage] if line.startswith("USER")]

    assert users[-1:] == ["10001"]


def test_stages_that_run_have_no_tools_to_build_by() -> None:
    stages = _stages()
    bases = {name: lines[0].split()[1] for name, lines in stages.items()}

    assert bases == {
        "packages": PYTHON,
        "node": "node:22-bookworm-slim",
        "pegboard": PYTHON,
        "connections": "pegboard",
    }
    running = "\n".join([*stages["pegboard"], *stages["connections"]])
    assert not any(word in running for word in ("apt-get", "pip install", "npm install", "gcc"))


def test_image_says_whether_it_is_healthy() -> None:
    assert any(line.startswith("HEALTHCHECK") for line in _stages()["pegboard"])


def test_packages_are_installed_by_hash() -> None:
    installs = [part for line in LINES for part in line.split("&&") if "pip install" in part]

    assert len(installs) == 3
    assert all("--no-deps --require-hashes -r " in part for part in installs)


def test_everything_copied_exists_and_reaches_the_build() -> None:
    sources = _copied()

    allowed = (PROJECT / "docker" / "Dockerfile.dockerignore").read_text().splitlines()
    assert all((PROJECT / source).exists() for source in sources)
    assert {f"!{source}" for source in sources} <= set(allowed)


@pytest.mark.parametrize("app", ["acl", "catalog", "discovery", "marketplace"])
def test_every_app_is_in_the_image(app: str) -> None:
    assert app in _copied()


@pytest.mark.parametrize("name", ["entrypoint.sh", "secrets.sh"])
def test_scripts_can_be_executed(name: str) -> None:
    assert os.access(PROJECT / "docker" / name, os.X_OK)


def _copied() -> list[str]:
    copies = [line.split()[1:] for line in LINES if line.startswith("COPY")]
    return [word for words in copies if not words[0].startswith("--from") for word in words[:-1]]


def _stages() -> dict[str, list[str]]:
    """Return the lines of each stage by its name."""
    stages: dict[str, list[str]] = {}
    for line in LINES:
        if line.startswith("FROM"):
            stages[line.split()[-1]] = current = [line]
        elif stages:
            current.append(line)
    return stages
