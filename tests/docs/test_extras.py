"""The extra of the user's embedder: what `make run` and the image install for it, and use."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCK = "docker/sentence-transformers.lock"


def _plan(*arguments: str) -> str:
    """Return what make would run. Nothing is installed, whatever this .venv has."""
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    command = ["make", "--dry-run", *arguments]
    return subprocess.run(  # noqa: S603 - our own Makefile
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_run_installs_the_extras_lock_file_with_its_hashes_and_uses_it() -> None:
    plan = _plan("run", "EXTRAS=sentence-transformers")

    [installing] = [line for line in plan.splitlines() if LOCK in line]
    assert f"--require-hashes --requirement {LOCK}" in installing
    assert '"${PEGBOARD_EMBEDDER:-sentence-transformers}"' in plan
    assert plan.index(LOCK) < plan.index("manage.py up")


def test_run_without_extras_installs_and_chooses_none() -> None:
    plan = _plan("run")

    assert LOCK not in plan
    assert "PEGBOARD_EMBEDDER" not in plan


def test_unknown_extra_is_refused_with_the_known_ones() -> None:
    plan = _plan("run", "EXTRAS=quince")

    assert 'echo "EXTRAS can be: sentence-transformers" >&2; exit 1' in plan


def test_image_installs_the_same_lock_file_by_its_build_argument() -> None:
    dockerfile = (ROOT / "docker" / "Dockerfile").read_text()

    assert LOCK in dockerfile
    assert '--require-hashes -r "$EXTRAS.lock"' in dockerfile
    assert "sentence-transformers==" in (ROOT / LOCK).read_text()
