"""ZIP-1: archives that write elsewhere or too much are refused, and nothing is written."""

import gzip
import io
import stat
import tarfile
import zipfile
from pathlib import Path
from random import Random

import pytest

from catalog.formats.archive_members import ArchiveLimits
from catalog.formats.files import RefusedError
from marketplace.sources._reader import strip_top_folder, unpack
from tests.sources.places import MB, tar_of

SMALL = ArchiveLimits(members=50, total=3 * MB, file=MB, ratio=100)


def zip_of(files: dict[str, bytes], *, link: str = "", how: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", how) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            # Set afterwards: the constructor would make some names harmless.
            info.filename = name
            info.compress_type = how
            archive.writestr(info, content)
        if link:
            info = zipfile.ZipInfo("link")
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, link)
    return packed.getvalue()


def member(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def sparse(name: str) -> tarfile.TarInfo:
    """Return a file of 900 KiB that compresses to almost nothing."""
    info = tarfile.TarInfo(name)
    info.pax_headers = {
        "GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.name": name,
        "GNU.sparse.size": str(900 * 1024), "GNU.sparse.numblocks": "0", "GNU.sparse.map": "",
    }  # fmt: skip
    return info


NAMES = [
    "../evil.txt", "a/../../evil.txt", "/etc/evil.txt", "a//b", "..", "a/..", "..\\evil.txt",
    "C:/evil.txt", "C:evil", "a\x1bb", "x/" * 30 + "a", "n" * 301,
]  # fmt: skip
HOSTILE = {
    **{f"zip {name[:20]!r}": zip_of({"ok.txt": b"1", name: b"evil"}) for name in NAMES},
    **{f"tar {name[:20]!r}": tar_of({"ok.txt": b"1", name: b"evil"}) for name in NAMES},
    "zip twice": zip_of({"a": b"1", "./a": b"2"}),
    "zip case": zip_of({"a/B": b"1", "A/b": b"2"}),
    "tar case": tar_of({"SKILL.md": b"1", "skill.MD": b"2"}),
    "zip file as folder": zip_of({"a": b"1", "a/b": b"2"}),
    "zip bomb": zip_of({"zeros": bytes(900 * 1024), "more": bytes(900 * 1024)}),
    # One part of either unpacks to gigabytes in memory, whatever size it says.
    "zip by bzip2": zip_of({"a": b"1"}, how=zipfile.ZIP_BZIP2),
    "zip by lzma": zip_of({"a": b"1"}, how=zipfile.ZIP_LZMA),
    "zip many": zip_of({f"f{n}": b"" for n in range(51)}),
    "tar bomb": tar_of({f"zeros{n}": bytes(1000 * 1024) for n in range(4)}),
    "tar header bomb": tar_of({}, *(member("x" * 90 + str(n), tarfile.DIRTYPE) for n in range(49)),
                              member("y" * 3_500_000, tarfile.DIRTYPE)),
    "tar many": tar_of({f"f{n}": b"" for n in range(51)}),
    "tar sparse": tar_of({}, *(sparse(f"s{n}") for n in range(40))),
    "tar pipe": tar_of({}, member("pipe", tarfile.FIFOTYPE)),
    "tar device": tar_of({}, member("null", tarfile.CHRTYPE)),
    "neither": b"GIF89a", "empty": b"",
    "broken zip": zip_of({"a": b"1" * 99})[:60],
    "broken tar": tar_of({"a": b"1" * 99})[:40],
    "no tar inside": gzip.compress(b"hello" * 300),
}  # fmt: skip


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_hostile_archive_is_refused_and_writes_nothing_elsewhere(
    body: bytes, tmp_path: Path
) -> None:
    scratch = tmp_path / "a" / "b" / "scratch"
    scratch.mkdir(parents=True)

    with pytest.raises(RefusedError):
        unpack(body, scratch, limits=SMALL)

    outside = [path for path in tmp_path.rglob("*") if scratch not in path.parents]
    assert set(outside) == {tmp_path / "a", tmp_path / "a" / "b", scratch}
    assert not any(path.is_symlink() for path in tmp_path.rglob("*"))
    assert sum(path.stat().st_size for path in scratch.rglob("*") if path.is_file()) <= 3 * MB


def test_links_and_large_files_are_left_out_and_told(tmp_path: Path) -> None:
    links = (
        member("repo/link", tarfile.SYMTYPE, "/etc/passwd"),
        member("repo/hard", tarfile.LNKTYPE, "repo/SKILL.md"),
    )
    files = {"repo/SKILL.md": b"hello", "repo/large.bin": Random(1).randbytes(1_200_000)}
    (tmp_path / "tar").mkdir()
    (tmp_path / "zip").mkdir()

    told = unpack(tar_of(files, *links), tmp_path / "tar", limits=SMALL)
    told_by_zip = unpack(
        zip_of({"SKILL.md": b"hello"}, link="/etc"), tmp_path / "zip", limits=SMALL
    )

    assert [(one.file, one.reason.split()[-1]) for one in told] == [
        ("repo/large.bin", "1,048,576"),
        ("repo/link", "followed"),
        ("repo/hard", "followed"),
    ]
    assert [one.file for one in told_by_zip] == ["link"]
    assert [path.name for path in strip_top_folder(tmp_path / "tar").iterdir()] == ["SKILL.md"]
    assert (tmp_path / "zip" / "SKILL.md").read_bytes() == b"hello"
