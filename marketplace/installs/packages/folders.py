"""Folders of installed packages. Each has a unique name that is never reused."""

import os
import shutil
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings

from acl.platform.strict_json import StrictJSONError, parse_json
from catalog.formats.secret_redaction import redact_text
from catalog.formats.text_cleanup import clean_text
from catalog.servers.client.launch_rules import COMPILED, code_digest, files_below

# The store of npm's tarballs, beside the packages: no package has a name that is not a UUID.
TARBALLS = "tarballs"


def servers_folder() -> Path:
    """Return the parent of all package folders."""
    return Path(settings.PEGBOARD_DATA_DIR) / "servers"


def new_name() -> str:
    """Return a new unique folder name."""
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of an installed package. `scratch` exists while a package client runs."""

    name: str

    @property
    def folder(self) -> Path:
        """The path of the folder."""
        return servers_folder() / self.name

    @property
    def scratch(self) -> Path:
        """The home folder of the package client."""
        return self.folder / ".fetching"

    @property
    def cache(self) -> Path:
        """uv's cache for this package alone. Not in `scratch`, a mount of its own in a cell: files
        can be linked within a mount only, and would be copied.
        """
        return self.folder / ".cache"

    @property
    def compiled(self) -> Path:
        """Compiled modules of a Python package."""
        return self.folder / COMPILED

    def make(self) -> None:
        """Create the folder, empty."""
        self.remove()
        self.scratch.mkdir(parents=True, mode=0o700)

    def finish(self) -> None:
        """Remove the client's home folder and cache."""
        for folder in (self.scratch, self.cache):
            shutil.rmtree(folder, ignore_errors=True)

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def bytes(self) -> int:
        """Return the size in bytes."""
        return sum(_size(entry) for entry in files_below(self.folder))

    def digest(self) -> str:
        """Return the digest of all files that could be executed, or "" if there is no folder."""
        return code_digest(self.folder)


def remove_all_but(list_wanted: Callable[[], Iterable[str]]) -> list[str]:
    """Remove folders that are no longer wanted, and return their names."""
    try:
        folder_names = [
            entry.name
            for entry in os.scandir(servers_folder())
            if entry.is_dir() and entry.name != TARBALLS
        ]
    except FileNotFoundError:
        return []
    # Read after listing: rows name their folder before it is created.
    names_in_use = set(list_wanted())
    gone = sorted(name for name in folder_names if name not in names_in_use)
    for name in gone:
        shutil.rmtree(servers_folder() / name, ignore_errors=True)
    return gone


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0


# Result of installing a package: launch command and files, or an error that says what to do.

_MOST_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True, order=True)
class Artefact:
    """A file from an index. `digest` is `sha256:…` in hex, or npm's integrity value."""

    name: str
    version: str
    digest: str


@dataclass(frozen=True, slots=True)
class Installed:
    """The launch command, and every file that was fetched. `lock` is npm's lock file.

    `python` is the version that the files were chosen for. `built` has the digests of wheels that
    were built here, by package; the artefacts of these are sources.
    """

    launch: tuple[str, ...]
    artefacts: tuple[Artefact, ...]
    lock: str = ""
    python: str = ""
    built: dict[str, str] = field(default_factory=dict)


class PackageProblemError(Exception):
    """The package could not be installed. `code` is for machines."""

    def __init__(self, code: str, message: str, detail: str = "") -> None:
        redacted = "\n".join(redact_text(clean_text(line).text) for line in detail.splitlines())
        super().__init__(f"{message}\n{redacted[-_MOST_CHARACTERS:]}".strip())
        self.code = code


def read_json(text: str, name: str) -> Any:
    """Parse JSON that a package client or a package has written."""
    try:
        return parse_json(text, max_depth=128, any_text=True)
    except StrictJSONError as problem:
        raise PackageProblemError(
            "package_failed", f"{name} is not valid JSON: {problem}."
        ) from None
