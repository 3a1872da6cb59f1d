"""Unpacking archives that strangers made, zip or tar.gz, into a folder of our own.

Each member is written by us, never by the archive's library: a name that leads elsewhere, a
device, a repetition or a bomb refuses the archive. Links are left out and told, since repositories
have them.
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
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from catalog.formats.descriptors import Defect
from catalog.formats.files import RefusedError

MB = 1024 * 1024
_PART = 64 * 1024


@dataclass(frozen=True, slots=True)
class Room:
    """How much an archive may unpack to."""

    members: int = 20_000
    total: int = 200 * MB
    file: int = 5 * MB
    ratio: int = 100
    name: int = 300
    depth: int = 24


ROOM = Room()


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    size: int
    is_folder: bool
    is_link: bool
    is_file: bool


class _Archive(Protocol):
    """What both kinds have in common: members in order, and the bytes of one."""

    def members(self) -> Iterator[tuple[_Member, IO[bytes] | None]]: ...


def unpack(body: bytes, folder: Path, *, room: Room = ROOM) -> list[Defect]:
    """Write the archive's files below `folder`; what was left out. RefusedError refuses it all."""
    budget = _Budget(room, len(body))
    left_out: list[Defect] = []
    names: set[str] = set()
    try:
        for member, content in _opened(body, budget).members():
            path = _checked(member, names, room)
            if member.is_link:
                left_out.append(Defect(str(path), "file", "is a link, and links are not followed"))
            elif member.is_file and content is not None:
                _write(folder / path, content, member, budget, left_out)
    except _BROKEN as problem:
        raise RefusedError(f"is no archive that can be read: {type(problem).__name__}") from None
    return left_out


def only_folder(folder: Path) -> Path:
    """The one folder that forges put around a repository's files, or the folder itself."""
    inside = sorted(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


class _Budget:
    """Counts what comes out, against what went in."""

    def __init__(self, room: Room, packed: int) -> None:
        self.room = room
        self._most = min(room.total, max(packed, 1024) * room.ratio)
        self._taken = 0
        self._members = 0

    def member(self) -> None:
        """One more member."""
        self._members += 1
        if self._members > self.room.members:
            raise RefusedError(f"has more than {self.room.members:,} files")

    def take(self, size: int) -> None:
        """That many more bytes."""
        self._taken += size
        if self._taken > self._most:
            raise RefusedError("unpacks to far more than it is packed")


class _Zip:
    def __init__(self, body: bytes, budget: _Budget) -> None:
        self._zip = zipfile.ZipFile(io.BytesIO(body))
        self._budget = budget

    def members(self) -> Iterator[tuple[_Member, IO[bytes] | None]]:
        for info in self._zip.infolist():
            self._budget.member()
            kind = stat.S_IFMT(info.external_attr >> 16)
            if info.flag_bits & 1:
                raise RefusedError("is encrypted")
            member = _Member(
                # As it is written: ZipFile itself makes backslashes and null bytes harmless.
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
        # As a stream: what has not been counted has not been unpacked, headers included.
        budget = _Budget(self._budget.room, len(self._packed))
        stream = _Counted(gzip.GzipFile(fileobj=io.BytesIO(self._packed)), budget)
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


class _Counted:
    """A stream of which every byte counts."""

    def __init__(self, inner: IO[bytes] | gzip.GzipFile, budget: _Budget) -> None:
        self._inner = inner
        self._budget = budget

    def read(self, size: int = -1) -> bytes:
        part = self._inner.read(size)
        self._budget.take(len(part))
        return part


def _opened(body: bytes, budget: _Budget) -> _Archive:
    if body.startswith(b"PK"):
        return _Zip(body, budget)
    if body.startswith(b"\x1f\x8b"):
        return _Tar(body, budget)
    raise RefusedError("is neither a zip nor a tar.gz archive")


def _checked(member: _Member, names: set[str], room: Room) -> PurePosixPath:
    """Where the member goes, below the folder; RefusedError where its name is up to something."""
    name = member.name.rstrip("/")
    parts = name.split("/")
    parts = [part for part in parts if part != "."]
    if not (member.is_file or member.is_folder or member.is_link):
        raise RefusedError("holds a device or a pipe")
    if name.startswith("/") or ".." in parts or "" in parts or _is_odd(name):
        raise RefusedError("holds a name that leads elsewhere")
    if len(name) > room.name or len(parts) > room.depth:
        raise RefusedError("holds a name that is too long or too deep")
    # Two names that some file system takes for one would overwrite each other there.
    folded = unicodedata.normalize("NFKC", "/".join(parts)).casefold()
    if folded in names and not member.is_folder:
        raise RefusedError("holds one name twice")
    names.add(folded)
    return PurePosixPath(*parts)


def _is_odd(name: str) -> bool:
    drive = len(name) > 1 and name[1] == ":"
    return drive or "\\" in name or any(unicodedata.category(one) == "Cc" for one in name)


def _write(
    path: Path, content: IO[bytes], member: _Member, budget: _Budget, left_out: list[Defect]
) -> None:
    if member.size > budget.room.file:
        reason = f"has {member.size:,} bytes; the limit is {budget.room.file:,}"
        left_out.append(Defect(member.name, "file", reason))
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as written:
        taken = 0
        while part := content.read(_PART):
            taken += len(part)
            if taken > budget.room.file:
                raise RefusedError("holds a file that is larger than it says")
            budget.take(len(part))
            written.write(part)


_BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    EOFError,
    OSError,
    zlib.error,
    NotImplementedError,  # zipfile's, for a way of packing that it does not know
    UnicodeError,
    ValueError,
    RuntimeError,
)
