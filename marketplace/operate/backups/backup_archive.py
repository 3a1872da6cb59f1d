"""The file of a backup: a tar with pg_dump's archive, what it is of, and the checksums of both.

`tar xf FILE && sha256sum --check SHA256SUMS` and pg_restore read it without Pegboard. It is written
and read as a stream: nothing is on the disk twice.
"""

import hashlib
import json
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

from acl.platform.strict_json import StrictJSONError, parse_json

DUMP, MANIFEST, SUMS = "database.dump", "manifest.json", "SHA256SUMS"
FORMAT = 1
_AT_ONCE = 1024 * 1024


class BackupDamagedError(Exception):
    """A file is no backup, or not the one that was written."""


def write_archive(path: Path, chunks: Iterable[bytes], about: dict[str, Any]) -> dict[str, Any]:
    """Write the dump and what it is of; the manifest. `path` is there once it is whole."""
    draft = path.with_name(f"{path.name}.part")
    draft.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            size, digest = _write_dump(file, chunks)
            manifest = {"format": FORMAT, **about, "dump": {"bytes": size, "sha256": digest}}
            told = json.dumps(manifest, indent=1).encode()
            sums = f"{digest}  {DUMP}\n{hashlib.sha256(told).hexdigest()}  {MANIFEST}\n"
            for name, content in ((MANIFEST, told), (SUMS, sums.encode())):
                file.write(_header(name, len(content)) + content + _padding(len(content)))
            file.write(bytes(2 * tarfile.BLOCKSIZE))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return manifest


def check_archive(
    path: Path, progress: Callable[[int, int], None] = lambda done, total: None
) -> dict[str, Any]:
    """The manifest, once every byte has been compared with its checksum."""
    with _opened(path) as tar:
        expected = [line.split("  ", 1) for line in _read(tar, SUMS).decode().splitlines()]
        if sorted(name for _, name in expected) != sorted([DUMP, MANIFEST]):
            raise BackupDamagedError(f"{path} has no checksums of what is in it.")
        total, done = sum(tar.getmember(name).size for _, name in expected), 0
        for digest, name in expected:
            found = hashlib.sha256()
            for chunk in _chunks(tar, name):
                found.update(chunk)
                done += len(chunk)
                progress(done, total)
            if found.hexdigest() != digest:
                raise BackupDamagedError(f"{name} in {path} is not what was written.")
        manifest: dict[str, Any] = parse_json(_read(tar, MANIFEST))
    if manifest["format"] != FORMAT:
        raise BackupDamagedError(f"{path} was written by a later Pegboard than this one.")
    return manifest


def dump_in(path: Path) -> Iterator[bytes]:
    """The archive of pg_dump."""
    with _opened(path) as tar:
        yield from _chunks(tar, DUMP)


def _write_dump(file: BinaryIO, chunks: Iterable[bytes]) -> tuple[int, str]:
    """How long it came to be, which its header tells afterwards, and its digest."""
    file.write(bytes(tarfile.BLOCKSIZE))
    size, digest = 0, hashlib.sha256()
    for chunk in chunks:
        file.write(chunk)
        digest.update(chunk)
        size += len(chunk)
    file.write(_padding(size))
    file.seek(0)
    file.write(_header(DUMP, size))
    file.seek(0, os.SEEK_END)
    return size, digest.hexdigest()


def _header(name: str, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    return member.tobuf(tarfile.GNU_FORMAT)


def _padding(size: int) -> bytes:
    return bytes(-size % tarfile.BLOCKSIZE)


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(path, "r:") as tar:
            yield tar
    except (tarfile.TarError, KeyError, EOFError, UnicodeDecodeError, StrictJSONError):
        raise BackupDamagedError(f"{path} is no backup of Pegboard, or not all of one.") from None


def _read(tar: tarfile.TarFile, name: str) -> bytes:
    return b"".join(_chunks(tar, name))


def _chunks(tar: tarfile.TarFile, name: str) -> Iterator[bytes]:
    content: IO[bytes] | None = tar.extractfile(name)
    if content is None:
        raise KeyError(name)
    while chunk := content.read(_AT_ONCE):
        yield chunk
