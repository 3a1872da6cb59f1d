"""Files of untrusted zip and tar.gz archives, one after the other.

Path traversal, devices, duplicate names and decompression bombs refuse the whole archive. Links are
left out and reported, because ordinary repositories contain them. Imports nothing that a reader in
a cell does not need.
"""

import gzip
import io
import stat
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, Protocol

from catalog.formats.descriptors import Defect
from catalog.formats.files import RefusedError

MB = 1024 * 1024
_PART = 64 * 1024
# Python's bzip2 and LZMA unpack a part as a whole: a few hundred bytes become gigabytes of memory.
_PACKED_BY = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENTRY = b"PK\x01\x02"


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Limits for extracting an archive; sizes in bytes."""

    members: int = 20_000
    total: int = 200 * MB
    file: int = 5 * MB
    ratio: int = 100
    name: int = 300
    depth: int = 24


ARCHIVE_LIMITS = ArchiveLimits()


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    size: int
    is_folder: bool
    is_link: bool
    is_file: bool


class _Archive(Protocol):
    """The interface of both formats: members in order, with the content of regular files."""

    def members(self) -> Iterator[tuple[_Member, IO[bytes] | None]]: ...


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A file of an archive; its path is relative and safe."""

    path: str
    content: bytes


def read_members(
    body: bytes, *, limits: ArchiveLimits = ARCHIVE_LIMITS
) -> Iterator[ArchiveFile | Defect]:
    """Yield the files of an archive, and what is left out. Raises RefusedError."""
    budget = _Budget(limits, len(body))
    names: set[str] = set()
    try:
        for member, content in _open_archive(body, budget).members():
            path = check_path(member.name, names, limits, is_folder=member.is_folder)
            if not (member.is_file or member.is_folder or member.is_link):
                raise RefusedError("contains a device or a pipe")
            if member.is_link:
                yield Defect(path, "file", "is a link, and links are not followed")
            elif member.is_file and content is not None:
                yield _read(path, content, member, budget)
    except _BROKEN as problem:
        raise RefusedError(f"is not a readable archive: {type(problem).__name__}") from None


def check_path(
    stored: str, names: set[str], limits: ArchiveLimits, *, is_folder: bool = False
) -> str:
    """Return a member's path below the folder; RefusedError for unsafe names.

    `names` has those of the members before, and gets this one's.
    """
    name = stored.replace("\\", "/").rstrip("/")  # Windows packs with its own sign
    parts = [part for part in name.split("/") if part != "."]
    if name.startswith("/") or ".." in parts or "" in parts or _has_odd_characters(name):
        raise RefusedError("contains a path that leads outside")
    if len(name) > limits.name or len(parts) > limits.depth:
        raise RefusedError("contains a path that is too long or too deep")
    # Some file systems treat these two names as equal: one file would overwrite the other.
    folded = unicodedata.normalize("NFKC", "/".join(parts)).casefold()
    if folded in names and not is_folder:
        raise RefusedError("contains the same path twice")
    names.add(folded)
    return str(PurePosixPath(*parts))


class _Budget:
    """Counts extracted members and bytes, limited by the archive's own size."""

    def __init__(self, limits: ArchiveLimits, packed: int) -> None:
        self.limits = limits
        self._most_bytes = min(limits.total, max(packed, 1024) * limits.ratio)
        self._taken = 0
        self._members = 0

    def member(self) -> None:
        """Count a member."""
        self._members += 1
        if self._members > self.limits.members:
            raise RefusedError(f"has more than {self.limits.members:,} files")

    def take(self, size: int) -> None:
        """Count extracted bytes."""
        self._taken += size
        if self._taken > self._most_bytes:
            raise RefusedError("unpacks to far more than its packed size")


class _Zip:
    def __init__(self, body: bytes, budget: _Budget) -> None:
        # Counted before zipfile makes an object for each entry of the directory.
        if body.count(_ENTRY) > budget.limits.members:
            raise RefusedError(f"has more than {budget.limits.members:,} files")
        self._zip = zipfile.ZipFile(io.BytesIO(body))
        self._budget = budget

    def members(self) -> Iterator[tuple[_Member, IO[bytes] | None]]:
        for info in self._zip.infolist():
            self._budget.member()
            kind = stat.S_IFMT(info.external_attr >> 16)
            if info.flag_bits & 1:
                raise RefusedError("is encrypted")
            if info.compress_type not in _PACKED_BY:
                raise RefusedError("is packed in another way than zip files commonly are")
            member = _Member(
                # The name as stored: `filename` has backslashes replaced and is cut at a null byte.
                info.orig_filename,
                info.file_size,
                is_folder=info.is_dir(),
                is_link=kind == stat.S_IFLNK,
                is_file=kind in (0, stat.S_IFREG) and not info.is_dir(),
            )
            if member.is_file:
                with self._zip.open(info) as content:
                    yield member, content
            else:
                yield member, None


class _Tar:
    def __init__(self, body: bytes, budget: _Budget) -> None:
        self._packed = body
        self._budget = budget

    def members(self) -> Iterator[tuple[_Member, IO[bytes] | None]]:
        # Read as a stream with its own budget, so that oversized headers count as well.
        budget = _Budget(self._budget.limits, len(self._packed))
        stream = _CountingStream(gzip.GzipFile(fileobj=io.BytesIO(self._packed)), budget)
        with tarfile.open(fileobj=stream, mode="r|", errorlevel=2) as tar:  # type: ignore[call-overload]
            for info in tar:
                self._budget.member()
                yield (
                    _Member(
                        info.name,
                        info.size,
                        is_folder=info.isdir(),
                        is_link=info.issym() or info.islnk(),
                        is_file=info.isreg(),
                    ),
                    tar.extractfile(info) if info.isreg() else None,
                )


class _CountingStream:
    """Stream wrapper that counts every byte against a budget."""

    def __init__(self, inner: IO[bytes] | gzip.GzipFile, budget: _Budget) -> None:
        self._inner = inner
        self._budget = budget

    def read(self, size: int = -1) -> bytes:
        part = self._inner.read(size)
        self._budget.take(len(part))
        return part


def _open_archive(body: bytes, budget: _Budget) -> _Archive:
    if body.startswith(b"PK"):
        return _Zip(body, budget)
    if body.startswith(b"\x1f\x8b"):
        return _Tar(body, budget)
    raise RefusedError("is neither a zip nor a tar.gz archive")


def _has_odd_characters(name: str) -> bool:
    drive = len(name) > 1 and name[1] == ":"
    return (
        drive or "\\" in name or any(unicodedata.category(character) == "Cc" for character in name)
    )


def _read(path: str, content: IO[bytes], member: _Member, budget: _Budget) -> ArchiveFile | Defect:
    if member.size > budget.limits.file:
        reason = f"has {member.size:,} bytes; the limit is {budget.limits.file:,}"
        return Defect(member.name, "file", reason)
    data = bytearray()
    while part := content.read(_PART):
        data += part
        if len(data) > budget.limits.file:
            raise RefusedError("contains a file that is larger than declared")
        budget.take(len(part))
    return ArchiveFile(path, bytes(data))


_BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    EOFError,
    OSError,
    zlib.error,
    NotImplementedError,  # from zipfile, for an unknown compression method
    UnicodeError,
    ValueError,
    RuntimeError,
)
