"""Backup and restore of the whole database. Backups contain no keys, only their fingerprints."""

import hashlib
from collections import Counter
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
from catalog.models import Secret
from catalog.servers.secrets.encryption_keys import (
    CannotOpenError,
    SecretUnavailableError,
    open_envelope,
    opening_keys,
)
from marketplace.operate.backups import databases
from marketplace.operate.backups.archive import check_archive, read_dump, write_archive
from marketplace.operate.backups.databases import (
    connected_to,
    create_database,
    current_database,
    drop_database,
    is_empty,
    swap_databases,
)
from marketplace.operate.roles.owner import as_owner

Progress = Callable[[str, int, int], None]  # step, done, total
BACKED_UP, RESTORED = "database.backed_up", "database.restored"  # in the audit log
NO_KEY = ""  # fingerprint of secrets that no known key opens


def _ignore_progress(step: str, done: int, total: int) -> None:
    """Ignore progress."""


class RestoreRefusedError(Exception):
    """Refused restore, because it would lose data without the caller's consent."""


@dataclass(slots=True)
class RestoreResult:
    """Result of a restore. `kept_as` is the name that the replaced database now has."""

    manifest: dict[str, Any]
    kept_as: str = ""
    waited_seconds: float = 0.0
    migrated: list[str] = field(default_factory=list)
    secrets_readable: int = 0
    secrets_lost: int = 0


@as_owner()
def make_backup(path: Path, *, progress: Progress = _ignore_progress) -> dict[str, Any]:
    """Write the database to a file, verify it, and return the manifest. Runs during normal use."""
    with transaction.atomic(), connection.cursor() as cursor:
        # One snapshot for the dump and for the row counts in the manifest.
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        cursor.execute("SELECT pg_export_snapshot()")
        snapshot = cursor.fetchone()[0]
        about = _describe_database()
        done = _table_counter(progress, "Dumping tables", len(about["rows"]))
        write_archive(path, databases.dump(snapshot=snapshot, table_done=done), about)
    manifest = check_backup(path, progress=progress)
    details = {"made_at": manifest["made_at"], "sha256": manifest["dump"]["sha256"]}
    record(by=None, action=BACKED_UP, target=path.name, details=details)
    return manifest


def check_backup(path: Path, *, progress: Progress = _ignore_progress) -> dict[str, Any]:
    """Verify the checksums of a backup, and return its manifest."""
    return check_archive(path, lambda done, total: progress("Checking", done, total))


@as_owner()
def restore_backup(
    path: Path,
    *,
    overwrite: bool,
    lose_secrets: bool = False,
    progress: Progress = _ignore_progress,
) -> RestoreResult:
    """Restore a backup. A database in use is replaced in one step at the end, and kept."""
    manifest = check_backup(path, progress=progress)
    _refuse_newer(manifest)
    if not lose_secrets:
        _refuse_without_keys(manifest)
    if is_empty():
        restored = _fill(path, manifest, current_database(), progress)
    elif not overwrite:
        raise RestoreRefusedError(
            f"The database {current_database()} is not empty. Replace it with --yes."
        )
    else:
        restored = _replace(path, manifest, progress)
    _clear_caches()
    return restored


def _describe_database() -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT now(), current_setting('server_version')")
        now, version = cursor.fetchone()
    return {
        "pegboard": settings.PEGBOARD_VERSION,
        "made_at": now.isoformat(),
        "postgres": version,
        "migrations": _applied_migrations(),
        "rows": _count_rows(),
        "secrets_by_key": secrets_by_key(),
    }


def _applied_migrations() -> list[str]:
    return sorted(".".join(key) for key in MigrationRecorder(connection).applied_migrations())


def _count_rows() -> dict[str, int]:
    counts = {}
    with connection.cursor() as cursor:
        for table in sorted(connection.introspection.table_names(cursor)):
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608 - read from the database itself
            counts[table] = cursor.fetchone()[0]
    return counts


def _refuse_newer(manifest: dict[str, Any]) -> None:
    ours = MigrationLoader(None).disk_migrations or {}
    last = {app: max(step for label, step in ours if label == app) for app, _ in ours}
    # Earlier steps than the last of an app may be gone from here: they were squashed.
    steps = (step.partition(".") for step in manifest["migrations"])
    if unknown := sorted(f"{app}.{step}" for app, _, step in steps if step > last.get(app, "")):
        raise RestoreRefusedError(
            f"The backup was made by Pegboard {manifest['pegboard']} and has tables unknown to "
            f"this version ({unknown[-1]}): restore it with that version or a later one."
        )


def _refuse_without_keys(manifest: dict[str, Any]) -> None:
    missing = missing_keys(manifest["secrets_by_key"])
    if missing:
        raise RestoreRefusedError(
            f"{sum(missing.values())} sealed secrets of the backup need a key that is not "
            f"configured (fingerprint {', '.join(missing)}): add it to "
            "PEGBOARD_ENCRYPTION_KEYS or to the file encryption_keys, or use --lose-secrets and "
            "enter the secrets again."
        )


def _replace(path: Path, manifest: dict[str, Any], progress: Progress) -> RestoreResult:
    """Restore into a second database, then swap it with the one in use."""
    in_use, stamp = current_database(), _stamp()
    beside = f"{in_use[:40]}_restoring_{stamp}"
    create_database(beside)
    try:
        restored = _fill(path, manifest, beside, progress)
        restored.kept_as = f"{in_use[:40]}_before_{stamp}"
        restored.waited_seconds = swap_databases(beside, kept_as=restored.kept_as)
    finally:
        drop_database(beside)  # does nothing after a successful swap: the name is gone
    return restored


def _fill(path: Path, manifest: dict[str, Any], database: str, progress: Progress) -> RestoreResult:
    done = _table_counter(progress, "Restoring tables", len(manifest["rows"]))
    databases.restore(read_dump(path), database=database, table_done=done)
    restored = RestoreResult(manifest)
    with connected_to(database):
        if _count_rows() != manifest["rows"]:
            raise RestoreRefusedError("The restored row counts differ from those in the backup.")
        before = set(_applied_migrations())
        call_command("migrate", interactive=False, verbosity=0)
        restored.migrated = sorted(set(_applied_migrations()) - before)
        counts = secrets_by_key()
        restored.secrets_lost = counts.pop(NO_KEY, 0)
        restored.secrets_readable = sum(counts.values())
        details = {"made_at": manifest["made_at"], "sha256": manifest["dump"]["sha256"]}
        record(by=None, action=RESTORED, target=path.name, details=details)
    return restored


def _table_counter(progress: Progress, step: str, total: int) -> Callable[[str], None]:
    done: list[str] = []

    def count(table: str) -> None:
        done.append(table)
        progress(step, len(done), total)

    return count


def _stamp() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_char(clock_timestamp(), 'YYYYMMDDHH24MISS')")
        return str(cursor.fetchone()[0])


def _clear_caches() -> None:
    """Delete outcome windows, which are recomputed from the restored data."""
    # Other caches need no deletion: their keys contain a version that is unique to a database.

    def forget(redis: Any) -> None:
        for key in redis.scan_iter("pegboard:outcomes:*", count=1000):
            redis.delete(key)

    attempt(forget, default=None)


def secrets_by_key() -> dict[str, int]:
    """Count secrets by the fingerprint of the key that opens them; "" if none does."""
    keys, counts = _keys_by_fingerprint(), Counter[str]()
    for sealed in Secret.objects.order_by("pk").values_list("sealed", flat=True).iterator():
        counts[_find_key(bytes(sealed), keys)] += 1
    return dict(sorted(counts.items()))


def missing_keys(needed: dict[str, int]) -> dict[str, int]:
    """Return keys that are not configured here, with the number of secrets that need them."""
    configured = _keys_by_fingerprint()
    return {name: count for name, count in needed.items() if name and name not in configured}


def _find_key(sealed: bytes, keys: dict[str, str]) -> str:
    for fingerprint, key in keys.items():
        try:
            open_envelope(sealed, [key])
        except CannotOpenError:
            continue
        return fingerprint
    return NO_KEY


def _keys_by_fingerprint() -> dict[str, str]:
    try:
        # Hash a key of 32 random bytes, from which the hash reveals nothing.
        return {
            hashlib.sha256(f"pegboard backup {key}".encode()).hexdigest()[:16]: key
            for key in opening_keys()
        }
    except SecretUnavailableError:
        return {}
