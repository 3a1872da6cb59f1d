"""Hostile contents of a watched folder, and quirks of file systems."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.formats.manifest_folders import is_gone, read_folders, watched_folders
from catalog.models import Capability, ManifestFile
from tests.formats.folders import write
from tests.registration.folders import LAMP, Folders, manifest, one, reasons

pytestmark = pytest.mark.django_db
BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nname: lamp\nkind: tool\ndescription: x\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (BOMB, "uses a YAML alias or anchor"),
        (LAMP + "tags: !!python/object/apply:os.system [id]\n", "uses a YAML tag"),
        (LAMP + "x: " + "[" * 40 + "]" * 40 + "\n", "is nested more than 20 deep"),
        (LAMP + "x: " + "y" * 20_000, "bytes; the limit is 16,384"),
        # The document of an API may be long; in a manifest's place it is one that is too long.
        ("openapi: 3.0.0\npaths:\n" + "  /x: {}\n" * 3_000, "bytes; the limit is 16,384"),
        (LAMP + "x: [" + "y," * 3_000 + "]\n", "has more than 2,000 YAML elements"),
        (LAMP + LAMP, "occurs twice"),
    ],
)
def test_dangerous_yaml_is_refused_and_the_others_load(
    folders: Folders, text: str, reason: str
) -> None:
    folders.put(text)
    folders.put(manifest("door"), "door")

    report = folders.read()

    assert [row.full_name for row in Capability.objects.all()] == ["door"]
    (defect,) = report.defects
    assert (defect.field, reason in defect.reason) == ("file", True)


@pytest.mark.parametrize("path", ["../secret.md", "/etc/hostname", "a/../../secret.md", "link.md"])
def test_instructions_out_of_the_folder_are_refused(folders: Folders, path: str) -> None:
    write(folders.first, "secret.md", "canary")
    folders.put(f"{LAMP}skillContent: {path}\n")
    (folders.first / "lamp" / "link.md").symlink_to(folders.first / "secret.md")

    report = folders.read()

    assert (one().content, report.defects[0].field) == ("", "skillContent")
    assert "canary" not in repr(report)


def test_linked_manifests_and_folders_are_reported_and_not_followed(
    folders: Folders, tmp_path: Path
) -> None:
    elsewhere = write(tmp_path / "elsewhere", "CAPABILITY.yaml", LAMP)
    (folders.first / "lamp").mkdir(parents=True)
    (folders.first / "lamp" / "CAPABILITY.yaml").symlink_to(elsewhere)
    (folders.first / "linked").symlink_to(elsewhere.parent)

    report = folders.read()

    assert not Capability.objects.exists()
    assert sorted(reasons(report)) == [
        "file: is a link to a folder, and links are not followed",
        "file: leads out of the folder",
    ]


def test_manifest_replaced_by_a_link_keeps_its_last_good_state(folders: Folders) -> None:
    path = folders.put(LAMP)
    folders.read()
    target = folders.put(manifest("lamp", "Of a stranger."), file="other.txt")

    path.unlink()
    path.symlink_to(target)
    folders.read()

    assert one().description == "Switches a lamp on and off."


def test_pipe_does_not_stop_the_pass(folders: Folders) -> None:
    folders.put(LAMP)
    os.mkfifo(folders.first / "CAPABILITY.yaml")

    report = folders.read()

    assert one().available
    assert reasons(report) == ["file: is not a regular file"]


def test_editors_files_and_other_formats_are_no_manifests(folders: Folders) -> None:
    for name in (".CAPABILITY.yaml.swp", "CAPABILITY.yaml~", "#CAPABILITY.yaml#", "4913"):
        folders.put(LAMP, file=name)
    folders.put('{"tools": [{"name": "x", "description": "y"}]}', "tools", file="tools.json")
    folders.put("---\nname: alone\ndescription: A skill.\n---\n", "alone", file="SKILL.md")

    report = folders.read()

    assert (report.files, Capability.objects.count()) == (0, 0)


def test_names_that_are_no_text_do_no_harm(folders: Folders) -> None:
    for byte in (b"\xff", b"\xfe"):
        write(folders.first / os.fsdecode(byte), "CAPABILITY.yaml", LAMP)

    folders.read()

    assert one().available
    assert ManifestFile.objects.filter(path__contains="\ufffd").count() == 1


def test_folder_that_cannot_be_entered_keeps_what_it_had(folders: Folders) -> None:
    folder = folders.put(LAMP).parent
    folders.read()

    shutil.rmtree(folder)
    folder.symlink_to(folder)  # its target cannot be resolved, not even by root
    report = folders.read()

    assert (one().available, report.kept) == (True, ["lamp"])
    assert "file: cannot be reached" in reasons(report)


@pytest.fixture
def as_nobody() -> Iterator[Path]:
    """A folder accessible to an unprivileged account, and that account."""
    place = Path(tempfile.mkdtemp(prefix="pegboard-"))
    place.chmod(0o755)
    ourselves = os.geteuid()
    yield place
    os.seteuid(ourselves)
    for folder in place.iterdir():
        folder.chmod(0o700)
    shutil.rmtree(place)


@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_folder_without_permission_costs_only_itself(as_nobody: Path, mode: int) -> None:
    write(as_nobody, "closed/CAPABILITY.yaml", LAMP)
    write(as_nobody, "open/CAPABILITY.yaml", manifest("door"))
    (as_nobody / "closed").chmod(mode)
    if os.geteuid() == 0:
        os.seteuid(65534)

    closed, door = sorted(read_folders((as_nobody,)), key=lambda read: read.path)

    assert (closed.declared, closed.defects[0].reason) == (
        None,
        "cannot be read: Permission denied",
    )
    assert door.declared is not None
    assert not is_gone(str(as_nobody / "closed" / "CAPABILITY.yaml"))


def test_missing_folders_are_nothing_special(folders: Folders) -> None:
    report = folders.read()

    assert (report.defects, report.changed_anything) == ([], False)


def test_folders_are_in_the_order_of_the_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    folders = watched_folders(("/srv/tools", "~/more", "capabilities"))

    assert [str(folder.relative_to("/")) for folder in folders] == [
        str(path).lstrip("/")
        for path in (
            tmp_path / "home/.pegboard/capabilities",
            tmp_path / "capabilities",
            "/srv/tools",
            tmp_path / "home/more",
        )
    ]


def test_folder_inside_another_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, "inner/lamp/CAPABILITY.yaml", LAMP)

    reads = read_folders((tmp_path, tmp_path / "inner"))

    assert [(Path(read.path).name, read.defects) for read in reads] == [("CAPABILITY.yaml", ())]
