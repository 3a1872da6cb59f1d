"""Backup files: a tar with a pg_dump archive, a manifest, and the checksums of both.

Readable without Pegboard: `tar xf FILE && sha256sum --check SHA256SUMS`, then pg_restore. Written
and read as a stream, so no second copy is ever on disk.
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
_CHUNK_BYTES = 1024 * 1024


class BackupDamagedError(Exception):
    """The file is no backup, or is damaged."""


def write_archive(path: Path, chunks: Iterable[bytes], about: dict[str, Any]) -> dict[str, Any]:
    """Write dump and manifest to `path`, and return the manifest."""
    # Renamed at the end, so that a file at `path` is always complete.
    draft = path.with_name(f"{path.name}.part")
    draft.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            size, digest = _write_dump(file, chunks)
            manifest = {"format": FORMAT, **about, "dump": {"bytes": size, "sha256": digest}}
            manifest_json = json.dumps(manifest, indent=1).encode()
            sums = f"{digest}  {DUMP}\n{hashlib.sha256(manifest_json).hexdigest()}  {MANIFEST}\n"
            for name, content in ((MANIFEST, manifest_json), (SUMS, sums.encode())):
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
    """Verify the checksums of every member, and return the manifest."""
    with _open_archive(path) as tar:
        expected = [line.split("  ", 1) for line in _read(tar, SUMS).decode().splitlines()]
        if sorted(name for _, name in expected) != sorted([DUMP, MANIFEST]):
            raise BackupDamagedError(f"{path} has no list of checksums.")
        total, done = sum(tar.getmember(name).size for _, name in expected), 0
        for digest, name in expected:
            checksum = hashlib.sha256()
            for chunk in _chunks(tar, name):
                checksum.update(chunk)
                done += len(chunk)
                progress(done, total)
            if checksum.hexdigest() != digest:
                raise BackupDamagedError(f"{name} in {path} does not match its checksum.")
        manifest: dict[str, Any] = parse_json(_read(tar, MANIFEST))
    if manifest["format"] != FORMAT:
        raise BackupDamagedError(f"{path} was written by a newer Pegboard.")
    return manifest


def read_dump(path: Path) -> Iterator[bytes]:
    """Yield the pg_dump archive in chunks."""
    with _open_archive(path) as tar:
        yield from _chunks(tar, DUMP)


def _write_dump(file: BinaryIO, chunks: Iterable[bytes]) -> tuple[int, str]:
    """Write the dump, then its header, because the size is known only at the end."""
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
def _open_archive(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(path, "r:") as tar:
            yield tar
    except (tarfile.TarError, KeyError, EOFError, UnicodeDecodeError, StrictJSONError):
        raise BackupDamagedError(f"{path} is not a complete Pegboard backup.") from None


def _read(tar: tarfile.TarFile, name: str) -> bytes:
    return b"".join(_chunks(tar, name))


def _chunks(tar: tarfile.TarFile, name: str) -> Iterator[bytes]:
    content: IO[bytes] | None = tar.extractfile(name)
    if content is None:
        raise KeyError(name)
    while chunk := content.read(_CHUNK_BYTES):
        yield chunk
