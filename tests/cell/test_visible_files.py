"""Files that a cell shows, and Pegboard's own folders where they lie within one of them."""

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from catalog.servers.cell.visible_files import folder_options, named_folders, program_files


@pytest.fixture
def project(settings: Settings, tmp_path: Path) -> Path:
    """A source tree and its data folder, below a folder of other things."""
    settings.BASE_DIR = tmp_path / "opt" / "pegboard"
    settings.PEGBOARD_DATA_DIR = settings.BASE_DIR / ".pegboard"
    (settings.PEGBOARD_DATA_DIR / "servers" / "package").mkdir(parents=True)
    return Path(settings.BASE_DIR)


def test_pegboard_is_covered_where_a_program_sees_the_folder_above(project: Path) -> None:
    package = project / ".pegboard" / "servers" / "package"

    options = folder_options([project.parent, package], [])

    shown = [options.index(one) for one in (str(project.parent), str(package))]
    cover = options.index("--tmpfs")
    assert options[cover + 1] == str(project)
    assert shown[0] < cover
    mounts = [options[at : at + 2] for at, one in enumerate(options) if one == "--ro-bind"]
    assert mounts == [["--ro-bind", str(project.parent)], ["--ro-bind", str(package)]]
    assert options[-2:] == ["--remount-ro", str(project / ".pegboard")]


@pytest.mark.parametrize(
    ("named", "shown"),
    [
        ("srv/notes", True),
        ("srv/notes/2026/a.md", True),
        ("srv/notes/../other", False),
        ("srv", False),
        ("srv/notes-of-others", False),
    ],
)
def test_command_must_name_an_allowed_folder(
    project: Path, settings: Settings, tmp_path: Path, named: str, shown: bool
) -> None:
    folder = tmp_path / "srv" / "notes"
    folder.mkdir(parents=True)
    settings.PEGBOARD_CELL_FOLDERS = (f"{folder}:rw",)

    readable, writable = named_folders(["program", str(tmp_path / named)])

    assert (readable, writable) == ([], [folder] if shown else [])


def test_folder_with_pegboards_keys_is_never_shown(project: Path, settings: Settings) -> None:
    settings.PEGBOARD_CELL_FOLDERS = (str(project.parent), str(project))

    assert named_folders(["program", str(project / "x")]) == ([], [])


def test_script_of_the_source_tree_is_shown_alone_and_a_key_not_at_all(project: Path) -> None:
    script, key = project / "tools" / "server.py", project / ".pegboard" / "secret_key"
    script.parent.mkdir()
    for file in (script, key):
        file.touch()

    assert program_files(["/usr/bin/python3", str(script)]) == [script]
    assert program_files(["/usr/bin/python3", str(key)]) == []
