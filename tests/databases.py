"""A database for each process of a run, as it is after migrating, and emptied between tests.

Migrating takes most of ten seconds, and so it is done once: processes copy what came of it.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.core.management.commands import flush
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.operations import DatabaseOperations
from guardian.management import create_anonymous_user
from pytest_django import DjangoDbBlocker

MIGRATED = "test_pegboard_migrated"
# What these hold follows from the code: filling them again is nine tenths of emptying all tables.
KEPT = {"django_content_type", "auth_permission"}


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, django_db_blocker: DjangoDbBlocker
) -> None:
    """pytest-django asks for this just before it makes the database of the process."""
    with Path(os.environ["PEGBOARD_DATA_DIR"], "migrated").open("a") as done:
        fcntl.flock(done, fcntl.LOCK_EX)
        if not os.fstat(done.fileno()).st_size:
            with django_db_blocker.unblock():
                _migrate_once()
            done.write(MIGRATED)
    connection.settings_dict["TEST"].update(TEMPLATE=MIGRATED, MIGRATE=False)


def _migrate_once() -> None:
    name, test = connection.settings_dict["NAME"], connection.settings_dict["TEST"]
    own, test["NAME"] = test["NAME"], MIGRATED
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    connection.creation.destroy_test_db(name, verbosity=0, keepdb=True)  # it is only let go
    test["NAME"] = own


@pytest.fixture(autouse=True, scope="session")
def _flush_is_quick() -> Iterator[None]:
    """Between tests Django empties every table. The audit log refuses: here, no trigger runs. Rows
    are deleted, since truncating waits for whoever reads, such as a page that was just closed."""

    def sql_flush(
        self: DatabaseOperations, style: object, tables: Iterable[str], **_: object
    ) -> list[str]:
        quoted = map(self.quote_name, sorted(set(tables) - KEPT))
        deletes = [f"DELETE FROM {table}" for table in quoted]  # noqa: S608
        return ["SET LOCAL session_replication_role = replica", *deletes]

    def put_back(verbosity: int, interactive: bool, db: str) -> None:
        """All that a new database has besides what is kept."""
        create_anonymous_user(None, using=db)  # type: ignore[no-untyped-call]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseOperations, "sql_flush", sql_flush)
        patch.setattr(flush, "emit_post_migrate_signal", put_back)
        yield


@contextmanager
def taken_back(blocker: DjangoDbBlocker) -> Iterator[None]:
    """What several tests find there, in a transaction around theirs."""
    with blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


def ended_by_postgres(ended: BaseDatabaseWrapper) -> None:
    """Postgres ends the connection, as at a restart; its owner has not heard of it, and is at the
    beginning of a request."""
    ended.ensure_connection()
    info = ended.connection.info
    with psycopg.connect(host=info.host, user=info.user, dbname=info.dbname) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [info.backend_pid])
    ended.health_check_enabled, ended.health_check_done = True, False  # type: ignore[attr-defined]
