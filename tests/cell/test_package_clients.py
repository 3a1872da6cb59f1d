"""Package clients in their cells: their own folder, and nothing of Pegboard's."""

import sys
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from catalog.servers.cell.cell_support import cell_problem
from marketplace.installs.packages import client_cell
from marketplace.installs.packages.package_client import Watch, run_client
from marketplace.installs.packages.package_folders import Place
from marketplace.installs.packages.package_result import PackageProblemError

pytestmark = pytest.mark.processes
LOOK = """
import os, sys
for path in sys.argv[1:]:
    print(os.path.exists(path), end=" ")
open("mine", "w").write("x")
print(len(os.environ.get("PEGBOARD_CANARY", "")), os.getuid() != 0)
"""


def test_client_sees_its_own_folder_only(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PEGBOARD_CELL = "required"
    if problem := cell_problem():
        pytest.skip(f"No cell can be made here: {problem}")
    settings.PEGBOARD_DATA_DIR = tmp_path
    monkeypatch.setenv("PEGBOARD_CANARY", "canary")
    (tmp_path / "secret_key").write_text("canary")
    place = Place("a-package")
    place.make()
    hidden = [tmp_path / "secret_key", settings.BASE_DIR / "manage.py", Path("/etc/shadow")]

    command = [sys.executable, "-I", "-c", LOOK, *map(str, hidden), str(place.folder)]
    code, output = run_client(command, place, Watch())

    assert (code, output) == (0, "False False False True 0 True")
    assert (place.scratch / "mine").read_text() == "x"


def test_client_does_not_run_where_required_cells_cannot_be_made(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PEGBOARD_CELL, settings.PEGBOARD_DATA_DIR = "required", tmp_path
    monkeypatch.setattr(client_cell, "cell_problem", lambda: "No namespaces.")
    place = Place("a-package")
    place.make()

    with pytest.raises(PackageProblemError) as problem:
        run_client([sys.executable, "-V"], place, Watch())

    assert problem.value.code == "no_cell"
