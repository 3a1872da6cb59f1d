"""Digests of installed packages' code: only what was installed is started."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

# Compiled modules, made by Pegboard after the installation: they have a digest of their own.
COMPILED = ".compiled"
# Files that an interpreter loads. Other files are data, which some servers keep next to their code.
_CODE = frozenset(
    {".py", ".pyc", ".pth", ".so", ".js", ".mjs", ".cjs", ".json", ".node", ".wasm", ".cfg"}
)


def code_digest(folder: Path) -> str:
    """Return one SHA-256 of all code below a folder, or "" if the folder is gone."""
    if not folder.is_dir():
        return ""
    try:
        return _digest(folder)
    except FileNotFoundError:
        return ""


def _digest(folder: Path) -> str:
    whole = hashlib.sha256()
    apart = f"{COMPILED}{os.sep}"
    for entry in sorted(files_below(folder), key=lambda entry: entry.path):
        name = os.path.relpath(entry.path, folder)
        if not name.startswith(apart) and (content := _code(entry)):
            whole.update(f"{name}\x00{content}\n".encode(errors="surrogateescape"))
    return whole.hexdigest()


def files_below(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield all non-folders below; entries that vanish meanwhile are skipped."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from files_below(Path(entry.path))
        else:
            yield entry


def _code(entry: os.DirEntry[str]) -> str:
    """Return the file's part of the digest, or "" for data."""
    if entry.is_symlink():
        return f"-> {Path(entry.path).readlink()}"
    mode = entry.stat(follow_symlinks=False).st_mode
    if Path(entry.name).suffix not in _CODE and not mode & 0o111:
        return ""
    with Path(entry.path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
