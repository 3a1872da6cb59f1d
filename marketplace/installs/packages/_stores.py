"""Store of npm's tarballs: each under its own SHA-512, for all installations.

Only Pegboard's own process writes it, after it has hashed every byte itself; cells that run a
package client or a program see it read-only, or not at all. So a package can add no file but under
its true name, and nothing that another package's name leads to.
"""

import hashlib
import os
import stat
import time
from base64 import b64decode
from binascii import Error
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from django.conf import settings

from marketplace.installs.packages.folders import TARBALLS, servers_folder

_SHARED = "sha512"
_ALGORITHMS = ("sha512", "sha384", "sha256", "sha1")
_LARGEST = 300 * 1024**2
_IN_USE_SECONDS = 1_200


@dataclass(frozen=True, slots=True)
class Digest:
    """The strongest digest of an integrity value, as npm's own cache names its files."""

    algorithm: str
    value: str

    def below(self, folder: Path) -> Path:
        """Return the file of this content below a folder."""
        return folder / self.algorithm / self.value[:2] / self.value[2:4] / self.value[4:]


def parse_integrity(integrity: str) -> Digest | None:
    """Return the strongest digest that an integrity value names, or None."""
    digests: dict[str, str] = {}
    for part in integrity.split():
        algorithm, _, text = part.partition("-")
        try:
            raw = b64decode(text.partition("?")[0], validate=True)
        except (Error, ValueError):
            continue
        if algorithm in _ALGORITHMS and len(raw) == hashlib.new(algorithm).digest_size:
            digests[algorithm] = raw.hex()
    best = next((name for name in _ALGORITHMS if name in digests), None)
    return Digest(best, digests[best]) if best else None


def store_folder() -> Path:
    """Return the folder of the store."""
    return servers_folder() / TARBALLS


def find_stored(digest: Digest) -> Path | None:
    """Return the stored file, and note that it was used; None if it is not there."""
    file = digest.below(store_folder())
    # Weaker digests can be made to collide: such files are never shared.
    if digest.algorithm != _SHARED or not file.is_file():
        return None
    os.utime(file)
    return file


def is_known(spec: str) -> bool:
    """Return True if the package was installed here before. A hint: nothing is believed for it."""
    return _mark(spec).is_file()


def note_known(spec: str) -> None:
    """Note that the package was installed here."""
    if settings.PEGBOARD_PACKAGE_CACHE_MEGABYTES:
        _make_folders(_mark(spec).parent)
        _mark(spec).touch()


def _mark(spec: str) -> Path:
    digest = Digest("known", hashlib.sha256(spec.encode()).hexdigest())
    return digest.below(store_folder())


def add_to_store(digests: Iterable[Digest], fetched: Path) -> None:
    """Copy what a client has fetched, where its bytes have the digest that names it."""
    if not settings.PEGBOARD_PACKAGE_CACHE_MEGABYTES:
        return
    for digest in digests:
        if digest.algorithm != _SHARED or digest.below(store_folder()).exists():
            continue
        content = read_plain(digest.below(fetched))
        if hashlib.sha512(content).hexdigest() == digest.value:
            write_file(digest.below(store_folder()), content)
    remove_oldest()


def read_plain(path: Path) -> bytes:
    """Return the bytes of a plain file; a client that was broken may have left anything."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    with os.fdopen(file, "rb") as opened:
        about = os.fstat(opened.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST:
            return b""
        return opened.read(_LARGEST)


def write_file(file: Path, content: bytes) -> None:
    """Write a file of the store, all at once."""
    _make_folders(file.parent)
    # Complete before it has its name: another installation may look for it now.
    unfinished = store_folder() / f"{uuid4()}.part"
    unfinished.write_bytes(content)
    unfinished.chmod(0o444)
    unfinished.rename(file)


def _make_folders(folder: Path) -> None:
    """Make folders that a cell's user may enter, whatever this process's mask is."""
    for path in (store_folder(), *reversed(folder.relative_to(store_folder()).parents), folder):
        whole = store_folder() / path
        whole.mkdir(parents=True, exist_ok=True)
        whole.chmod(0o755)


def remove_oldest() -> None:
    """Remove what was not used for longest until the store is within its limit.

    What was used lately stays: an installation may be about to unpack it.
    """
    files = [(path, path.stat()) for path in store_folder().rglob("*") if path.is_file()]
    too_much = sum(about.st_size for _, about in files)
    too_much -= settings.PEGBOARD_PACKAGE_CACHE_MEGABYTES * 1024**2
    unused_since = time.time() - _IN_USE_SECONDS
    for path, about in sorted(files, key=lambda entry: entry[1].st_mtime):
        if too_much <= 0 or about.st_mtime > unused_since:
            return
        path.unlink(missing_ok=True)
        too_much -= about.st_size


# Store of wheels that were built here: by the digest of their source, and by their own.
#
# Beside npm's tarballs, and within their limit. Only Pegboard's own process writes it. What is
# built of a source can be changed by this source only, so all installations share it.


def find_wheel(source: str, python: tuple[int, int]) -> tuple[str, bytes] | None:
    """Return name and content of the wheel that was built of a source, and note that it was used;
    None without one."""
    for file in sorted(_folder(source, python).glob("*/*.whl")):
        content = read_plain(file)
        if hashlib.sha256(content).hexdigest() == file.parent.name:
            with suppress(FileNotFoundError):  # another installation may have removed it now
                os.utime(file)
            return file.name, content
    return None


def add_wheel(source: str, python: tuple[int, int], name: str, content: bytes) -> None:
    """Keep a wheel that was built of a source."""
    if not settings.PEGBOARD_PACKAGE_CACHE_MEGABYTES:
        return
    digest = hashlib.sha256(content).hexdigest()
    write_file(_folder(source, python) / digest / name, content)
    remove_oldest()


def _folder(source: str, python: tuple[int, int]) -> Path:
    algorithm, _, value = source.partition(":")
    if algorithm != "sha256" or not value.isalnum():
        raise ValueError("a source is named by its SHA-256")
    return Digest("built", value).below(store_folder()) / f"{python[0]}.{python[1]}"
