"""Owners and modes of a cell's files, where Pegboard runs as root and its programs do not."""

import os
from pathlib import Path

_READABLE = 0o005


def give_folder(folder: Path, user: int, *, fully: bool = False) -> None:
    """Make the folder and all in it the user's own; does nothing unless we are root.

    `fully` looks for files of ours in a folder that is the user's own already.
    """
    if os.geteuid() != 0 or (folder.stat().st_uid == user and not fully):
        return
    for path, folders, names in os.walk(folder):
        for name in (*folders, *names):
            os.chown(Path(path) / name, user, user, follow_symlinks=False)
    # Last: it says that everything below is done.
    os.chown(folder, user, user)


def open_folder(folder: Path) -> None:
    """Make the folder readable for every user; only we may enter the folder above."""
    if os.geteuid() != 0 or folder.stat().st_mode & _READABLE == _READABLE:
        return
    for path, folders, names in os.walk(folder):
        for name in folders:
            _add_mode(Path(path) / name, 0o055)
        for name in names:
            file = Path(path) / name
            _add_mode(file, 0o055 if not file.is_symlink() and os.access(file, os.X_OK) else 0o044)
    _add_mode(folder, 0o055)


def _add_mode(path: Path, mode: int) -> None:
    if not path.is_symlink():
        path.chmod(path.stat().st_mode | mode)


def prepare_files(place: Path | None, home: Path | None, user: int) -> None:
    """Make a program's package readable for it, and its lasting folder its own."""
    if place is not None:
        open_folder(place)
    if home is not None:
        give_folder(home, user)
