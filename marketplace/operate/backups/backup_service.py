"""A backup of everything that an installation keeps in its database, and getting back to it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from acl.audit.recorder import record
from acl.platform.redis_circuit import attempt
from marketplace.operate.backups import postgres_programs
from marketplace.operate.backups.backup_archive import check_archive, dump_in, write_archive
from marketplace.operate.backups.database_swap import (
    drop_database,
    is_empty,
    make_database,
    name_in_use,
    take_place,
    working_on,
)
from marketplace.operate.backups.key_check import WITHOUT_KEY, missing_keys, secrets_by_key
from marketplace.operate.roles.owner_role import as_owner

Progress = Callable[[str, int, int], None]  # what is done, how much of it, of how much


def _untold(step: str, done: int, total: int) -> None:
    """Where nobody wants to know."""


class RestoreRefusedError(Exception):
    """The restore would lose something, and nobody has said that it may."""


@dataclass(slots=True)
class Restored:
    """What came of it. `kept_as` is the database that was in use before, if there was one."""

    manifest: dict[str, Any]
    kept_as: str = ""
    waited_seconds: float = 0.0
    migrated: list[str] = field(default_factory=list)
    secrets_readable: int = 0
    secrets_lost: int = 0


@as_owner()
def make_backup(path: Path, *, progress: Progress = _untold) -> dict[str, Any]:
    """Write the database to a file and read it again; its manifest. Work goes on meanwhile."""
    with transaction.atomic(), connection.cursor() as cursor:
        # One state of the database for the dump and for what the manifest says of it.
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        cursor.execute("SELECT pg_export_snapshot()")
        snapshot = cursor.fetchone()[0]
        about = _about()
        done = _counted(progress, "Dumping tables", len(about["rows"]))
        write_archive(path, postgres_programs.dump(snapshot=snapshot, table_done=done), about)
    return check_backup(path, progress=progress)


def check_backup(path: Path, *, progress: Progress = _untold) -> dict[str, Any]:
    """The manifest of a backup whose checksums are right."""
    return check_archive(path, lambda done, total: progress("Checking", done, total))


@as_owner()
def restore_backup(
    path: Path,
    *,
    overwrite: bool,
    lose_secrets: bool = False,
    progress: Progress = _untold,
) -> Restored:
    """Get back to a backup. What is in use is replaced at the very end, in one step, and kept."""
    manifest = check_backup(path, progress=progress)
    _refuse_later(manifest)
    if not lose_secrets:
        _refuse_without_keys(manifest)
    if is_empty():
        restored = _fill(path, manifest, name_in_use(), progress)
    elif not overwrite:
        raise RestoreRefusedError(
            f"The database {name_in_use()} is not empty: with --yes the backup takes its place."
        )
    else:
        restored = _replace(path, manifest, progress)
    _forget_in_redis()
    return restored


def _about() -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT now(), current_setting('server_version')")
        now, version = cursor.fetchone()
    return {
        "pegboard": settings.PEGBOARD_VERSION,
        "made_at": now.isoformat(),
        "postgres": version,
        "migrations": _applied(),
        "rows": _rows(),
        "secrets_by_key": secrets_by_key(),
    }


def _applied() -> list[str]:
    return sorted(".".join(key) for key in MigrationRecorder(connection).applied_migrations())


def _rows() -> dict[str, int]:
    counts = {}
    with connection.cursor() as cursor:
        for table in sorted(connection.introspection.table_names(cursor)):
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608 - read from the database itself
            counts[table] = cursor.fetchone()[0]
    return counts


def _refuse_later(manifest: dict[str, Any]) -> None:
    known = {".".join(key) for key in MigrationLoader(None).disk_migrations or ()}
    if unknown := sorted(set(manifest["migrations"]) - known):
        raise RestoreRefusedError(
            f"The backup is of Pegboard {manifest['pegboard']} and has tables that this one does "
            f"not know ({unknown[-1]}): restore it by that Pegboard or a later one."
        )


def _refuse_without_keys(manifest: dict[str, Any]) -> None:
    missing = missing_keys(manifest["secrets_by_key"])
    if missing:
        raise RestoreRefusedError(
            f"{sum(missing.values())} sealed secrets of the backup need a key that is not here "
            f"(fingerprint {', '.join(missing)}): put it into PEGBOARD_ENCRYPTION_KEYS or the "
            "file encryption_keys, or restore with --lose-secrets and set them again."
        )


def _replace(path: Path, manifest: dict[str, Any], progress: Progress) -> Restored:
    """Fill a database beside the one in use, and let the two change places."""
    in_use, stamp = name_in_use(), _stamp()
    beside = f"{in_use[:40]}_restoring_{stamp}"
    make_database(beside)
    try:
        restored = _fill(path, manifest, beside, progress)
        restored.kept_as = f"{in_use[:40]}_before_{stamp}"
        restored.waited_seconds = take_place(beside, kept_as=restored.kept_as)
    finally:
        drop_database(beside)  # there is none of that name once it has taken the place
    return restored


def _fill(path: Path, manifest: dict[str, Any], database: str, progress: Progress) -> Restored:
    done = _counted(progress, "Restoring tables", len(manifest["rows"]))
    postgres_programs.restore(dump_in(path), database=database, table_done=done)
    restored = Restored(manifest)
    with working_on(database):
        if _rows() != manifest["rows"]:
            raise RestoreRefusedError("What was restored has not the rows that were dumped.")
        before = set(_applied())
        call_command("migrate", interactive=False, verbosity=0)
        restored.migrated = sorted(set(_applied()) - before)
        found = secrets_by_key()
        restored.secrets_lost = found.pop(WITHOUT_KEY, 0)
        restored.secrets_readable = sum(found.values())
        details = {"made_at": manifest["made_at"], "sha256": manifest["dump"]["sha256"]}
        record(by=None, action="database.restored", target=path.name, details=details)
    return restored


def _counted(progress: Progress, step: str, total: int) -> Callable[[str], None]:
    done: list[str] = []

    def count(table: str) -> None:
        done.append(table)
        progress(step, len(done), total)

    return count


def _stamp() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_char(clock_timestamp(), 'YYYYMMDDHH24MISS')")
        return str(cursor.fetchone()[0])


def _forget_in_redis() -> None:
    """Windows of outcomes are worked out again from what was restored; other caches carry a version
    that no other database has."""

    def forget(redis: Any) -> None:
        for key in redis.scan_iter("pegboard:outcomes:*", count=1000):
            redis.delete(key)

    attempt(forget, default=None)
