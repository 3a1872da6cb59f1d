"""Discovery of source files in folders, bounded in depth and number; links are not followed."""

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from catalog.formats import skill
from catalog.formats.descriptors import Defect
from catalog.formats.files import Limits
from catalog.formats.readers import docker_catalog, manifest

SKIPPED_FOLDERS = frozenset({".git", "node_modules", ".venv", "__pycache__", ".hg", ".svn"})
_SUFFIXES = frozenset({".json", ".jsonc", ".jsonl", ".yaml", ".yml", skill.ARCHIVE_SUFFIX})
# Other TOML is about programs, not about servers.
_CONFIGURATION = "config.toml"


@dataclass(slots=True)
class FoundSources:
    """The files to read, in order, and the defects."""

    root: Path
    files: list[Path] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)

    def report(self, path: Path, reason: str) -> None:
        """Record a path that was left out."""
        self.defects.append(Defect(display_path(path, self.root), "file", reason))


def display_path(path: Path, root: Path) -> str:
    """Return a path relative to the root, printable whatever its bytes, for reports."""
    name = path.relative_to(root).as_posix() if path != root else path.name or str(path)
    return os.fsencode(name).decode(errors="replace")


def find_sources(path: Path, limits: Limits) -> FoundSources:
    """Find the sources at a path: the file itself, or those below the folder."""
    if path.is_dir():
        sources = FoundSources(path)
        _walk(path, sources, limits, depth=0, in_skill=False)
        return sources
    sources = FoundSources(path.parent)
    if path.exists():
        sources.files.append(path)
    else:
        sources.report(path, "does not exist")
    return sources


def find_manifests(root: Path, limits: Limits) -> FoundSources:
    """Find the manifests below a folder, ignoring other files."""
    manifests = FoundSources(root)
    _walk_manifests(root, manifests, limits, depth=0)
    return manifests


def _walk_manifests(folder: Path, manifests: FoundSources, limits: Limits, *, depth: int) -> None:
    if depth > limits.folder_depth:
        manifests.report(folder, f"is more than {limits.folder_depth} folders deep")
        return
    files, folders = _list_folder(folder, manifests)
    for file in files:
        if file.name not in manifest.FILE_NAMES:
            continue
        if len(manifests.files) >= limits.folder_files:
            manifests.report(folder, f"is past the limit of {limits.folder_files:,} files")
            return
        manifests.files.append(file)
    # Report linked folders: developers often link a tool's folder here and expect it to load.
    with contextlib.suppress(OSError):  # _list_folder has reported it
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if entry.is_symlink() and entry.is_dir():
                manifests.report(
                    Path(entry.path), "is a link to a folder, and links are not followed"
                )
    for inner in folders:
        _walk_manifests(inner, manifests, limits, depth=depth + 1)


def _walk(
    folder: Path, sources: FoundSources, limits: Limits, *, depth: int, in_skill: bool
) -> None:
    if depth > limits.folder_depth:
        sources.report(folder, f"is more than {limits.folder_depth} folders deep")
        return
    files, folders = _list_folder(folder, sources)
    names = {file.name for file in files}
    for file in _select_sources(files, names, in_skill):
        if len(sources.files) >= limits.folder_files:
            sources.report(folder, f"is past the limit of {limits.folder_files:,} files")
            return
        sources.files.append(file)
    is_skill = in_skill or any(map(skill.is_skill_file, names))
    for inner in folders:
        _walk(inner, sources, limits, depth=depth + 1, in_skill=is_skill)


def _list_folder(folder: Path, sources: FoundSources) -> tuple[list[Path], list[Path]]:
    """Return the files that may be sources and the folders, sorted by name."""
    files: list[Path] = []
    folders: list[Path] = []
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        sources.report(folder, f"cannot be read: {os.strerror(error.errno or 0)}")
        return [], []
    for entry in entries:
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in SKIPPED_FOLDERS:
                folders.append(path)
        elif (
            path.name == _CONFIGURATION
            or skill.is_skill_file(path.name)
            or path.suffix.lower() in _SUFFIXES
        ):
            # Links, pipes and devices are included: reading them reports why they are refused.
            files.append(path)
    return files, folders


def _select_sources(files: list[Path], names: set[str], in_skill: bool) -> list[Path]:
    """Return the files to read on their own, without those that belong to another file."""
    if names & set(manifest.FILE_NAMES):
        beside = {skill.FILE_NAME, manifest.SCHEMA_FILE}
    elif in_skill or any(map(skill.is_skill_file, names)):
        # All other files in a skill's folder belong to the skill.
        return [file for file in files if skill.is_skill_file(file.name)]
    elif docker_catalog.FILE_NAME in names:
        beside = {docker_catalog.TOOLS_FILE}
    else:
        beside = set()
    return [file for file in files if file.name not in beside]
