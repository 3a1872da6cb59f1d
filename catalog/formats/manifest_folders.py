"""Watched folders and their manifests, in order of priority."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from catalog.formats.declared import DeclaredCapability
from catalog.formats.descriptors import Defect
from catalog.formats.files import DEFAULT_LIMITS, Limits
from catalog.formats.loader import load_path
from catalog.formats.source_folders import find_manifests

DEFAULT_FOLDERS = ("~/.pegboard/capabilities", "./capabilities")
LONGEST_PATH = 1000


@dataclass(frozen=True, slots=True)
class ManifestRead:
    """A manifest, or an unreadable place in a watched folder; `path` is as shown in reports."""

    path: str
    declared: DeclaredCapability | None = None
    defects: tuple[Defect, ...] = ()


def watched_folders(more: Iterable[str]) -> tuple[Path, ...]:
    """Return the distinct folders by priority; they need not exist."""
    folders: dict[Path, None] = {}
    for name in (*DEFAULT_FOLDERS, *more):
        # Path.expanduser fails for users without a home directory.
        with contextlib.suppress(RuntimeError, OSError):
            folders[Path(name).expanduser().resolve()] = None
    return tuple(folders)


def read_folders(
    folders: Sequence[Path], limits: Limits = DEFAULT_LIMITS
) -> tuple[ManifestRead, ...]:
    """Read all manifests, by priority of the folder and then by path."""
    reads: dict[str, ManifestRead] = {}
    for folder in folders:
        for manifest in _read_folder(folder, limits):
            # A folder inside another one has been read with it.
            reads.setdefault(manifest.path, manifest)
    return tuple(reads.values())


def is_gone(path: str) -> bool:
    """Return True if the file is known not to exist."""
    try:
        Path(path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True

    except OSError:
        # An unreadable parent folder proves nothing.
        return False
    return False


def storable_path(path: Path) -> str:
    """Return the full path, printable whatever its bytes, cut to the column's length."""
    return os.fsencode(path).decode(errors="replace")[:LONGEST_PATH]


def _read_folder(folder: Path, limits: Limits) -> Iterator[ManifestRead]:
    if not os.path.lexists(folder):
        return
    manifests = find_manifests(folder, limits)
    for file in manifests.files:
        yield _read_manifest(file, limits)
    for defect in manifests.defects:
        path = storable_path(folder if defect.file == folder.name else folder / defect.file)
        yield ManifestRead(path, defects=(replace(defect, file=path),))


def _read_manifest(file: Path, limits: Limits) -> ManifestRead:
    path = storable_path(file)
    try:
        loaded = load_path(file, limits=limits)
    except OSError as error:  # a folder that may be listed and not entered, say
        reason = f"cannot be read: {os.strerror(error.errno or 0)}"
        return ManifestRead(path, defects=(Defect(path, "file", reason),))
    defects = tuple(replace(defect, file=path) for defect in loaded.defects)
    both = zip(loaded.integrations, loaded.capabilities, strict=True)
    declared = next((DeclaredCapability(*pair) for pair in both), None)
    return ManifestRead(path, declared and _with_manifest_path(declared, path), defects)


def _with_manifest_path(declared: DeclaredCapability, path: str) -> DeclaredCapability:
    """Record the full path of the manifest in both descriptors."""
    source_ref = declared.capability.source_ref | {"file": path}
    return DeclaredCapability(
        replace(declared.integration, source_ref=source_ref),
        replace(declared.capability, source_ref=source_ref),
    )
