"""Kinds of sources, and archives that write elsewhere or too much (ZIP-1)."""

import gzip
import io
import stat
import tarfile
import zipfile
from pathlib import Path
from random import Random

import pytest
from django.contrib.auth.models import User
from django.utils.translation import override

from catalog.formats.archive_members import ArchiveLimits
from catalog.formats.files import RefusedError
from marketplace.listings.viewer import Viewer, visible_sources
from marketplace.models import Source
from marketplace.offers import kinds
from marketplace.offers.kinds.registry import ADDED_KINDS, CHOICES, KINDS, label_kind
from marketplace.sources._reader import strip_top_folder, unpack
from marketplace.sources.refresh import refresh_source
from marketplace.sources.subscriptions import add_source, check_location
from tests.factories import SourceFactory
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


DOCS = Path(__file__).parents[2] / "docs" / "marketplace.md"


def test_each_file_is_a_kind_that_is_named_on_pages_and_in_the_docs() -> None:
    files = {path.stem for path in Path(kinds.__path__[0]).glob("[!_]*.py")}

    members = {kind.__name__.rpartition(".")[2] for kind in KINDS.values()}  # type: ignore[attr-defined]
    assert members == files - {"base", "registry"}
    docs = DOCS.read_text("utf-8")
    for language in ("en", "de", "es"):
        with override(language):
            assert all(label_kind(name) and f"| `{name}` |" in docs for name, _ in CHOICES)


@pytest.mark.parametrize("kind", [name for name, _ in ADDED_KINDS])
def test_address_leads_to_what_the_kind_reads(kind: str) -> None:
    answers = {}
    for place in ("https://example.com/page", "https://example.com/page.json"):
        try:
            check_location(kind, place)
        except RefusedError as refused:
            answers[place.rpartition("/")[2]] = refused.reason.partition(" (")[0]

    neither = "is neither an archive"
    expected = {
        "document": {},
        "archive": {"page": neither, "page.json": neither},
        "archive or document": {"page": neither},
    }
    assert answers == expected[KINDS[kind].PLACE]
    assert KINDS[kind].HINT


@pytest.mark.django_db
def test_others_than_admins_see_sources_of_public_kinds_only() -> None:
    for name, _ in (*CHOICES, ("pigeon", "")):  # the last is of a later version
        SourceFactory.create(kind=name, location="")

    visible = {source.kind for source in visible_sources(Viewer(is_admin=False))}

    assert visible == {name for name, kind in KINDS.items() if not kind.IS_INTERNAL}
    assert visible_sources(Viewer(is_admin=True)).count() == len(CHOICES) + 1


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["pigeon", *Source.BUILT_IN])
def test_kind_that_nobody_adds_is_refused_and_an_unknown_one_not_read(kind: str) -> None:
    root = User.objects.create_superuser("root")

    with pytest.raises(RefusedError, match="a kind that nobody adds"):
        add_source(by=root, kind=kind, location="https://example.com/x.zip")
    source = SourceFactory.create(kind="pigeon", state="queued")
    refresh_source(source.pk)

    source.refresh_from_db()
    assert (source.state, source.reason) == ("failed", "unknown_kind")
    assert "no sources of pigeon" in source.message
    assert label_kind(source.kind) == "pigeon"
