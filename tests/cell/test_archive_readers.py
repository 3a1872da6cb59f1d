"""Archives of strangers are unpacked apart, and what is answered is checked again."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from catalog.formats.archive_members import ArchiveFile, ArchiveLimits, read_members
from catalog.formats.files import RefusedError
from catalog.servers.client import document_readers, reader_process
from catalog.servers.client.document_readers import read_archive
from marketplace.sources._reader import unpack
from tests.sources.places import tar_of

pytestmark = pytest.mark.processes
NONE = "The system refuses cells: No permission to creating new namespace"
LIMITS = ArchiveLimits(members=3, file=1000)
FILES = {"repo/SKILL.md": "---\nname: über\n".encode(), "repo/large.bin": b"x" * 1001}


@pytest.fixture(autouse=True)
def wanted(settings: Settings) -> None:
    """Read in a cell where one can be made, and else in a child process."""
    settings.PEGBOARD_CELL = "preferred"


def test_archive_read_apart_has_the_same_files_as_here(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    archive = tar_of(FILES)
    here = list(read_members(archive, limits=LIMITS))
    monkeypatch.setattr(document_readers, "read_members", None)  # nothing is read in this process

    there = list(read_archive(archive, limits=LIMITS))
    with pytest.raises(RefusedError) as refused:
        unpack(tar_of({"ok": b"1", "../evil": b"2"}), tmp_path)
    settings.PEGBOARD_CELL = "required"
    monkeypatch.setattr(reader_process, "cell_problem", lambda: NONE)
    with pytest.raises(RefusedError) as unread:
        unpack(archive, tmp_path)

    assert there == here
    assert [type(one).__name__ for one in here] == ["ArchiveFile", "Defect"]
    assert refused.value.reason == "contains a path that leads outside"
    assert NONE in unread.value.reason


def _file(content: bytes = b"1", **changes: Any) -> bytes:
    head = {"file": "a", "size": len(content), **changes}
    return json.dumps(head).encode() + b"\n" + content


END = b'{"end":true}\n'
LIES = {
    "nothing": b"",
    "no JSON": b"\xff{\n",
    "a list": b"[]\n",
    "a number": b"1\n",
    "no end": _file(),
    "an odd head": b'{"file": 1, "size": 1}\n1' + END,
    "an odd size": _file(size=True) + END,
    "less than nothing": _file(size=-1) + END,
    "more than it sends": _file(size=999),
    "too large a file": _file(b"x" * 1001) + END,
    "too much in all": _file(b"x" * 800) + _file(b"x" * 800, file="b") + END,
    "too many": b"".join(_file(file=name) for name in "abcd") + END,
    "a path that leads outside": _file(file="../a") + END,
    "an absolute path": _file(file="/etc/passwd") + END,
    "the same path twice": _file() + _file(file="./A") + END,
    "half a remark": b'{"left_out": ["a"]}\n' + END,
    "a long line": b'{"refused": "' + b"x" * 10_000 + b'"}\n',
}


def test_a_broken_reader_names_no_file_that_an_archive_could_not_have(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = [b""]
    monkeypatch.setattr(document_readers, "read_apart", lambda *_, into, **__: into.write(said[-1]))
    for number, (name, lie) in enumerate(LIES.items()):
        said.append(lie)
        folder = tmp_path / str(number) / "inside"
        folder.mkdir(parents=True)

        with pytest.raises(RefusedError):
            unpack(b"PK", folder, limits=replace(LIMITS, total=1500))

        assert [path.name for path in folder.parent.iterdir()] == ["inside"], name
    said.append(_file(b"hello", file="b/c") + END)
    assert list(read_archive(b"PK", limits=LIMITS)) == [ArchiveFile("b/c", b"hello")]
