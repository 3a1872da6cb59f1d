"""Passwords of the embedded servers, each in a file that only its owner can read."""

from pathlib import Path
from urllib.parse import quote

from marketplace.operate.embedded.data_folder import read_or_create_key, run_folder
from marketplace.operate.roles.role_names import APP, OWNER

_FILES = {APP: "database_password", OWNER: "database_owner_password"}
_REDIS = "redis_password"


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


def known_database_url(data: Path, role: str) -> str:
    """Return the database URL of a Pegboard that runs on the data folder.

    The password is empty if there is none yet, or the data folder belongs to somebody else.
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
