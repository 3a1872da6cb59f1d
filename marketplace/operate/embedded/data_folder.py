"""The data folder: layout, permissions, a lock against a second Pegboard, and passwords.

The passwords of the embedded servers are in files that only their owner can read.
"""

import fcntl
import hashlib
import os
import re
import secrets
from pathlib import Path
from urllib.parse import quote

from marketplace.operate.roles.names import APP, OWNER

# Startup errors, worded for the person who runs Pegboard.


class CannotRun(Exception):
    """Pegboard cannot start or continue. The message is one sentence that says what to do."""


# Socket paths are limited to 107 characters; our longest name in the folder has 20.
# Other characters would need a different quoting in each URL.
_SAFE_PATH = re.compile(r"/[A-Za-z0-9._/-]{1,85}")
_FILES = {APP: "database_password", OWNER: "database_owner_password"}
_REDIS = "redis_password"
_BROKER = "broker"


def run_folder(data: Path) -> Path:
    """Return the folder of the sockets: in the data folder, or in /tmp if its path is too long."""
    folder = data.resolve() / "run"
    if _SAFE_PATH.fullmatch(str(folder)):
        return folder
    digest = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
    return Path(f"/tmp/pegboard-{data_owner(data)}-{digest}")  # noqa: S108 - its owner is checked when it is used


def data_owner(data: Path) -> int:
    """Return the user id that owns the data folder, or will own it."""
    return data.stat().st_uid if data.exists() else os.geteuid()


def open_data_folder(data: Path) -> None:
    """Create the data folder with mode 0711: server accounts can pass through, but not list it."""
    try:
        data.mkdir(mode=0o711, parents=True, exist_ok=True)
        owner = data.stat().st_uid
        if owner != os.geteuid():
            raise CannotRun(
                f"The data folder {data} belongs to another user (number {owner}): "
                "run Pegboard as that user, or set PEGBOARD_DATA_DIR to another folder."
            )
        data.chmod(0o711)
        (data / "logs").mkdir(mode=0o700, exist_ok=True)
        # Remove permissions of others that an earlier version granted.
        for path in data.iterdir():
            if path.is_file() and not path.is_symlink() and path.stat().st_uid == os.geteuid():
                path.chmod(path.stat().st_mode & 0o700)
    except OSError as problem:
        raise CannotRun(
            f"The data folder {data} cannot be written ({problem.strerror}): "
            "set PEGBOARD_DATA_DIR to another folder."
        ) from problem


def open_broker_folder(data: Path) -> Path:
    """Create the folder of the secrets broker's socket and public key, for its owner only.

    A socket's path must be short: the folder is in /tmp, as the servers' own, if it is not.
    """
    folder = data.resolve() / _BROKER
    if not _SAFE_PATH.fullmatch(str(folder)):
        folder = run_folder(data).with_name(f"{run_folder(data).name}-broker")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
        raise CannotRun(f"{folder} belongs to another account: remove it.")
    folder.chmod(0o700)
    return folder


class Lock:
    """Exclusive lock on a data folder. The kernel releases it however the process ends."""

    def __init__(self, data: Path) -> None:
        self._path = data / "lock"
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock; CannotRun names the process that holds it."""
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._descriptor, 20).decode() or "unknown"
            self.release()
            raise CannotRun(
                f"Another Pegboard (process {holder}) already runs on {self._path.parent}: "
                "stop it first, or set PEGBOARD_DATA_DIR to another folder."
            ) from None
        os.truncate(self._descriptor, 0)
        os.write(self._descriptor, str(os.getpid()).encode())

    def release(self) -> None:
        """Release the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def read_or_create_key(data: Path, name: str) -> str:
    """Return the key in file `name`. It is created once, readable by its owner only."""
    file = data / name
    if not file.exists():
        draft = file.with_suffix(".new")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(50))
        draft.rename(file)
    return file.read_text().strip()


def read_or_create_password(data: Path, role: str) -> str:
    """Return the password of a database role; create it if missing."""
    return read_or_create_key(data, _FILES[role])


def read_or_create_redis_password(data: Path) -> str:
    """Return the password of Redis; create it if missing."""
    return read_or_create_key(data, _REDIS)


def database_url(data: Path, database: str, role: str, password: str) -> str:
    """Return a URL of the embedded Postgres."""
    return f"postgresql://{role}:{password}@{quote(str(run_folder(data)), safe='')}/{database}"


def redis_url(data: Path, password: str) -> str:
    """Return the REDIS_URL of the embedded Redis."""
    return f"unix://:{password}@{run_folder(data) / 'redis.sock'}"


def default_data_folder(project: Path, files: Path) -> Path:
    """Return the folder in the project, or the person's own where Pegboard is a package."""
    if files == project:
        return project / ".pegboard"
    folder = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return Path(folder) / "pegboard"


def known_database_url(data: Path, role: str) -> str:
    """Return the database URL of a Pegboard that runs on the data folder.

    The password is empty if there is none yet, or the data folder belongs to someone else.
    """
    return database_url(data, "pegboard", role, _read_password(data / _FILES[role]))


def known_redis_url(data: Path) -> str:
    """Return the Redis URL of a Pegboard that runs on the data folder."""
    return redis_url(data, _read_password(data / _REDIS))


def _read_password(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
