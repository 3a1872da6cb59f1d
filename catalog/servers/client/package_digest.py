"""The code of installed packages: what is started is what was installed."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

# What an interpreter loads or the system runs. The rest is data, which some servers keep beside it.
_CODE = frozenset(
    {".py", ".pyc", ".pth", ".so", ".js", ".mjs", ".cjs", ".json", ".node", ".wasm", ".cfg"}
)


def code_digest(folder: Path) -> str:
    """One SHA-256 over the names and contents of all code below a folder; empty where it is not
    there, or is being removed."""
    if not folder.is_dir():
        return ""
    try:
        return _digest(folder)
    except FileNotFoundError:
        return ""


def _digest(folder: Path) -> str:
    whole = hashlib.sha256()
    for entry in sorted(files_below(folder), key=lambda entry: entry.path):
        if content := _code(entry):
            name = os.path.relpath(entry.path, folder)
            whole.update(f"{name}\x00{content}\n".encode(errors="surrogateescape"))
    return whole.hexdigest()


def files_below(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Everything below that is no folder; what vanishes meanwhile is passed over."""
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
    """What stands for the file in the digest; empty where it is data."""
    if entry.is_symlink():
        return f"-> {Path(entry.path).readlink()}"
    mode = entry.stat(follow_symlinks=False).st_mode
    if Path(entry.name).suffix not in _CODE and not mode & 0o111:
        return ""
    with Path(entry.path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
