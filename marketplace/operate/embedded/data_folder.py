"""The data folder: what lies where, who may look, and that only one Pegboard uses it."""

import fcntl
import hashlib
import os
import re
import secrets
from pathlib import Path

from marketplace.operate.embedded.cannot_run import CannotRun

# A socket's path may have 107 characters, the longest name we put in the folder has 20.
# Anything but plain characters would have to be quoted differently in each of the URLs.
_PLAIN = re.compile(r"/[A-Za-z0-9._/-]{1,85}")


def run_folder(data: Path) -> Path:
    """Where the sockets are: in the data folder, or in a short place that its path decides."""
    folder = data.resolve() / "run"
    if _PLAIN.fullmatch(str(folder)):
        return folder
    digest = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
    return Path(f"/tmp/pegboard-{data_owner(data)}-{digest}")  # noqa: S108 - its owner is checked when it is used


def data_owner(data: Path) -> int:
    """The number of the user whose data folder this is, or will be."""
    return data.stat().st_uid if data.exists() else os.geteuid()


def open_data_folder(data: Path) -> None:
    """Make the data folder; others may pass through it, as the servers do, but not look around."""
    try:
        data.mkdir(mode=0o711, parents=True, exist_ok=True)
        owner = data.stat().st_uid
        if owner != os.geteuid():
            raise CannotRun(
                f"The data folder {data} belongs to another user (number {owner}): "
                "run Pegboard as that user, or choose another folder by PEGBOARD_DATA_DIR."
            )
        data.chmod(0o711)
        (data / "logs").mkdir(mode=0o700, exist_ok=True)
        _close_files(data)
    except OSError as problem:
        raise CannotRun(
            f"The data folder {data} cannot be written ({problem.strerror}): "
            "choose another by PEGBOARD_DATA_DIR."
        ) from problem


def _close_files(data: Path) -> None:
    """Take from others what an earlier version let them read."""
    for path in data.iterdir():
        if path.is_file() and not path.is_symlink() and path.stat().st_uid == os.geteuid():
            path.chmod(path.stat().st_mode & 0o700)


class Lock:
    """Held while a Pegboard runs on a data folder; the system frees it however the process ends."""

    def __init__(self, data: Path) -> None:
        self._path = data / "lock"
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock, or say who has it."""
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._descriptor, 20).decode() or "unknown"
            self.release()
            raise CannotRun(
                f"Another Pegboard (process {holder}) already runs on {self._path.parent}: "
                "stop it first, or choose another folder by PEGBOARD_DATA_DIR."
            ) from None
        os.truncate(self._descriptor, 0)
        os.write(self._descriptor, str(os.getpid()).encode())

    def release(self) -> None:
        """Let go of the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def key_in(data: Path, name: str) -> str:
    """The key in the file `name`, made once and readable by its owner alone."""
    file = data / name
    if not file.exists():
        draft = file.with_suffix(".new")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(50))
        draft.rename(file)
    return file.read_text().strip()
