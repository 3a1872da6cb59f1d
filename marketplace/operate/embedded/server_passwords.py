"""Passwords of the embedded servers: made once, each in a file that only its owner can read."""

from pathlib import Path
from urllib.parse import quote

from marketplace.operate.embedded.data_folder import key_in, run_folder
from marketplace.operate.roles.role_names import APP, OWNER

_FILES = {APP: "database_password", OWNER: "database_owner_password"}
_REDIS = "redis_password"


def make_password(data: Path, role: str) -> str:
    """The password of one of the database's roles."""
    return key_in(data, _FILES[role])


def make_redis_password(data: Path) -> str:
    """The password of Redis."""
    return key_in(data, _REDIS)


def database_address(data: Path, database: str, role: str, password: str) -> str:
    """A URL of the embedded Postgres."""
    return f"postgresql://{role}:{password}@{quote(str(run_folder(data)), safe='')}/{database}"


def redis_address(data: Path, password: str) -> str:
    """The REDIS_URL of the embedded Redis."""
    return f"unix://:{password}@{run_folder(data) / 'redis.sock'}"


def known_database_url(data: Path, role: str) -> str:
    """The address of a running Pegboard's database; without a password where there is none yet, or
    where the data folder is somebody else's."""
    return database_address(data, "pegboard", role, _known(data / _FILES[role]))


def known_redis_url(data: Path) -> str:
    """The same of its Redis."""
    return redis_address(data, _known(data / _REDIS))


def _known(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
