"""The migrated database as a file, so that only the first run after a change has to migrate.

Migrating takes ten seconds of processor time, reading the file one. It is named after everything
that decides what migrating makes, so a change of any of it leads to a new file.
"""

import hashlib
import subprocess
from pathlib import Path

from marketplace.operate.embedded.postgres import postgres_programs

PROJECT = Path(__file__).parent.parent
_PLACE = PROJECT / ".pytest_cache" / "migrated"
_DECIDES = (
    "*/migrations/*.py",
    "*/models/*.py",
    "*/apps.py",
    "acl/platform/*.py",
    "marketplace/config/*.py",
    "marketplace/operate/roles/*.py",
    "catalog/effects/*.py",
    "catalog/formats/_side_effects.py",
    "catalog/registration/catalog_rebuild.py",
    "tests/databases.py",
    "requirements.lock",
)


def saved_schema() -> Path:
    """Return the file for the code as it is now, which may not exist yet."""
    digest = hashlib.sha256()
    for pattern in _DECIDES:
        for path in sorted(PROJECT.glob(pattern)):
            digest.update(str(path.relative_to(PROJECT)).encode() + path.read_bytes())
    return _PLACE / f"{digest.hexdigest()[:32]}.sql"


def save_schema(conninfo: str, path: Path) -> None:
    """Write the database's tables and rows to `path`, and remove files of other states."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    dump = [str(postgres_programs() / "pg_dump"), "--dbname", conninfo, "--file", str(draft)]
    subprocess.run(dump, check=True, timeout=300)  # noqa: S603
    for other in path.parent.glob("*.sql"):
        other.unlink()
    draft.rename(path)


def load_schema(conninfo: str, path: Path) -> None:
    """Fill an empty database with what `save_schema` has written."""
    psql = [str(postgres_programs() / "psql"), "--dbname", conninfo, "--file", str(path)]
    quiet = ["--quiet", "--no-psqlrc", "--output=/dev/null", "--set=ON_ERROR_STOP=1"]
    subprocess.run([*psql, *quiet, "--single-transaction"], check=True, timeout=300)  # noqa: S603
