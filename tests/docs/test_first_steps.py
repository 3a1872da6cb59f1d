"""First steps: the README's commands, the extras, and one list of supported Pythons."""

import os
import random
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.docs.commands import PROJECT, commands_in, papers
from tests.examples import EXAMPLES
from tests.first_steps import first_commands


def test_first_steps_are_those_of_the_readme() -> None:
    written = [command.text for command in commands_in(PROJECT / "README.md")]

    steps = first_commands(PROJECT)

    assert [step.split()[0] for step in steps] == ["make", "export", "curl"]
    assert steps == ["make run PORT=8000", *written[1:3]]


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


ABOUT = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
PYTHONS = [each.rpartition(" ")[2] for each in ABOUT["classifiers"] if "Python :: 3." in each]
# Answers as a Python of another version would, and notes where it is asked for an environment.
STAND_IN = """#!/bin/sh
[ "$1" = -m ] && {{ mkdir -p .venv/bin && echo "$0" >.venv/made; exit; }}
exec {python} -c 'import sys; sys.version_info = {version}; code = sys.argv.pop(2); exec(code)' "$@"
"""


def test_bounds_are_the_first_and_the_last_of_the_list() -> None:
    minors = [int(each.partition(".")[2]) for each in PYTHONS]

    assert minors == list(range(minors[0], minors[-1] + 1))
    assert ABOUT["requires-python"] == f">=3.{minors[0]},<3.{minors[-1] + 1}"
    client = tomllib.loads((PROJECT / "docs/client/pyproject.toml").read_text())["project"]
    assert client["requires-python"] == f">=3.{minors[0]}"


def test_papers_name_the_same_list() -> None:
    needs = {
        (paper.name, versions)
        for paper in papers()
        for versions in re.findall(r"[Nn]eeds? Python (3\.\d+(?: to 3\.\d+)?)", paper.read_text())
    }

    assert {versions for _, versions in needs} == {f"{PYTHONS[0]} to {PYTHONS[-1]}"}
    assert {"README.md", "running.md", "guide-operator.md"} <= {name for name, _ in needs}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def _make_venv(folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    for name in ("Makefile", "pyproject.toml"):
        (folder / name).write_text((PROJECT / name).read_text())
    tools = folder / "tools"
    tools.mkdir()
    for tool in ("sh", "sed", "sort", "ls", "mkdir", "nproc"):
        (tools / tool).symlink_to(f"/usr/bin/{tool}")
    variables |= {"PATH": f"{folder}/path:{tools}", "PYENV_ROOT": str(folder / "pyenv")}
    make = next(path for path in ("/usr/bin/make", "/bin/make") if Path(path).exists())
    return subprocess.run(  # noqa: S603 - our own Makefile
        [make, "venv"], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("seed", range(min(EXAMPLES, 12)))
def test_newest_suitable_python_makes_the_environment(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    suitable = dict[int, str]()
    for minor in range(8, 18):
        stand_in = STAND_IN.format(python=sys.executable, version=(3, minor, 1))
        place = chance.choice(
            ["", f"path/python3.{minor}", f"pyenv/versions/3.{minor}.1/bin/python"]
        )
        if place:
            _write(tmp_path / place, stand_in)
            suitable[minor] = place
        if not place.startswith("path") and chance.random() < 0.3:  # as pyenv's, of another's
            _write(tmp_path / f"path/python3.{minor}", "#!/bin/sh\nexit 127\n")
    suitable = {minor: place for minor, place in suitable.items() if f"3.{minor}" in PYTHONS}

    done = _make_venv(tmp_path)

    if not suitable:
        assert done.returncode == 2
        assert f"Pegboard needs Python {PYTHONS[0]} to {PYTHONS[-1]} with venv" in done.stderr
        return
    made_by = (tmp_path / ".venv/made").read_text().strip()
    newest = suitable[max(suitable)]
    assert Path(made_by).name == Path(newest).name
    assert made_by in {str(tmp_path / newest), Path(newest).name}


def test_python_that_somebody_names_is_the_one_or_is_refused(tmp_path: Path) -> None:
    for minor in (8, 12, 13):
        stand_in = STAND_IN.format(python=sys.executable, version=(3, minor, 1))
        _write(tmp_path / f"path/python3.{minor}", stand_in)
    refused, taken = tmp_path / "refused", tmp_path / "taken"
    for each in (refused, taken):
        each.mkdir()

    old = _make_venv(refused, PYTHON=str(tmp_path / "path/python3.8"))
    new = _make_venv(taken, PYTHON=str(tmp_path / "path/python3.12"))

    assert "is none: install one" in old.stderr
    assert new.returncode == 0
    assert (taken / ".venv/made").read_text().strip().endswith("/path/python3.12")
