"""Store of wheels that were built here: by the digest of their source, and by their own.

Beside npm's tarballs, and within their limit. Only Pegboard's own process writes it. What is built
of a source can be changed by this source only, so all installations share it.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from marketplace.installs.packages._tarball_store import (
    Digest,
    read_plain,
    remove_oldest,
    store_folder,
    write_file,
)


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
