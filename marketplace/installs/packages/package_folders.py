"""Folders of installed packages: made, looked at, removed. Each has a name that nobody has used."""

import os
import shutil
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from catalog.servers.client.package_digest import code_digest, files_below


def servers_folder() -> Path:
    """Where all of them are."""
    return Path(settings.PEGBOARD_DATA_DIR) / "servers"


def new_name() -> str:
    """A name for a place."""
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of one installed package. `scratch` is the package client's, for as long as it
    works."""

    name: str

    @property
    def folder(self) -> Path:
        """Where it is."""
        return servers_folder() / self.name

    @property
    def scratch(self) -> Path:
        """What the client thinks is its home."""
        return self.folder / ".fetching"

    def make(self) -> None:
        """An empty place; whatever was half there is gone."""
        self.remove()
        self.scratch.mkdir(parents=True, mode=0o700)

    def finish(self) -> None:
        """Without what only the client needed."""
        shutil.rmtree(self.scratch, ignore_errors=True)

    def remove(self) -> None:
        """Nothing of it is left."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def bytes(self) -> int:
        """How large it is now."""
        return sum(_size(entry) for entry in files_below(self.folder))

    def digest(self) -> str:
        """Of every file in it that could be run; empty where it is not there."""
        return code_digest(self.folder)


def remove_all_but(wanted: Callable[[], Iterable[str]]) -> list[str]:
    """Remove the folders that nobody wants any more; their names."""
    try:
        there = [entry.name for entry in os.scandir(servers_folder()) if entry.is_dir()]
    except FileNotFoundError:
        return []
    # Asked for after looking: a row names its folder before that is made.
    kept = set(wanted())
    gone = sorted(name for name in there if name not in kept)
    for name in gone:
        shutil.rmtree(servers_folder() / name, ignore_errors=True)
    return gone


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0
