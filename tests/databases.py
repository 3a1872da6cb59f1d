"""A migrated database for each test process, emptied between tests.

Migrating takes ten seconds, so the owner of the tables does it once, and processes copy the result.
Tests run as the application's role. What it may not do, such as emptying the audit log, is done by
`as_superuser`, in the test's transaction.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dj_database_url
import psycopg
import pytest
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.core.management.commands import flush
from django.db import connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.backends.postgresql.operations import DatabaseOperations
from django.test import override_settings
from guardian.management import create_anonymous_user
from psycopg.conninfo import make_conninfo
from pytest_django import DjangoDbBlocker

from marketplace.operate.roles.names import OWNER, TEMPLATE
from marketplace.operate.roles.owner import as_owner
from tests.migrated_schema import load_schema, save_schema, saved_schema
from tests.servers import SUPERUSER

MIGRATED = "test_pegboard_migrated"
# Tables with contents derived from the code: refilling them takes nine tenths of a full flush.
KEPT = {"django_content_type", "auth_permission"}


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, django_db_blocker: DjangoDbBlocker
) -> None:
    """pytest-django requests this fixture just before it creates the process's database."""
    with Path(os.environ["PEGBOARD_DATA_DIR"], "migrated").open("a") as done:
        fcntl.flock(done, fcntl.LOCK_EX)
        if not os.fstat(done.fileno()).st_size:
            with django_db_blocker.unblock():
                _migrate_once()
            done.write(MIGRATED)
    connection.settings_dict["TEST"].update(TEMPLATE=MIGRATED, MIGRATE=False)


def _migrate_once() -> None:
    saved = saved_schema() if SUPERUSER in os.environ else None
    if saved is not None and saved.exists():
        with psycopg.connect(superuser_conninfo("postgres"), autocommit=True) as superuser:
            superuser.execute(f"CREATE DATABASE {MIGRATED} OWNER {OWNER} TEMPLATE {TEMPLATE}")
        load_schema(superuser_conninfo(MIGRATED), saved)
    else:
        _migrate()
        if saved is not None:
            save_schema(superuser_conninfo(MIGRATED), saved)


def _migrate() -> None:
    name, test = connection.settings_dict["NAME"], connection.settings_dict["TEST"]
    own, test["NAME"] = test["NAME"], MIGRATED
    if SUPERUSER in os.environ:
        test["TEMPLATE"] = TEMPLATE
    with as_owner():
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    with psycopg.connect(superuser_conninfo(MIGRATED), autocommit=True) as superuser:
        superuser.execute(_AS_SUPERUSER)
    connection.creation.destroy_test_db(name, verbosity=0, keepdb=True)  # only disconnects
    test["NAME"] = own


# A function, since another connection would not see the rows of a test's transaction.
_AS_SUPERUSER = """
CREATE SCHEMA tests;
GRANT USAGE ON SCHEMA tests TO PUBLIC;
CREATE FUNCTION tests.as_superuser(statement text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
AS $$ BEGIN EXECUTE statement; END $$;
CREATE FUNCTION tests.read_as_superuser(query text) RETURNS SETOF jsonb LANGUAGE plpgsql
SECURITY DEFINER AS $$ BEGIN
  RETURN QUERY EXECUTE format('SELECT to_jsonb(answer) FROM (%s) answer', query);
END $$;
"""


def as_superuser(*statements: str) -> None:
    """Do what the application's role may not, in the current transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tests.as_superuser(%s)", [";\n".join(statements)])


def read_as_superuser(query: str) -> list[dict[str, Any]]:
    """Read rows that the application's role may not see."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM tests.read_as_superuser(%s)", [query])
        return [json.loads(row) if isinstance(row, str) else row for (row,) in cursor.fetchall()]


@contextmanager
def connected_to_server(url: str, owner_url: str) -> Iterator[None]:
    """Connect Django in this process to another server, with another owner."""
    place, before = dict(dj_database_url.parse(url)), dict(connection.settings_dict)
    place = {name: place[name] for name in ("HOST", "PORT", "NAME", "USER", "PASSWORD")}
    connections.close_all()
    connection.settings_dict.update(place)
    ContentType.objects.clear_cache()  # another database has other numbers
    try:
        with override_settings(DATABASE_OWNER_URL=owner_url, DATABASE_APP_ROLE=place["USER"]):
            yield
    finally:
        connections.close_all()
        connection.settings_dict.update({name: before[name] for name in place})
        ContentType.objects.clear_cache()


def superuser_conninfo(database: str) -> str:
    """Return the superuser's address; that of the only role, for an external server."""
    url = os.environ.get(SUPERUSER) or settings.DATABASE_OWNER_URL or os.environ["DATABASE_URL"]
    return make_conninfo(url, dbname=database)


@pytest.fixture(autouse=True, scope="session")
def _databases_are_the_owners() -> Iterator[None]:
    """Make Django create and drop test databases as their owner."""
    own = DatabaseWrapper._nodb_cursor

    @contextmanager
    def nodb_cursor(self: DatabaseWrapper) -> Iterator[Any]:
        with as_owner(), own(self) as cursor:
            yield cursor

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseWrapper, "_nodb_cursor", nodb_cursor)
        yield


@pytest.fixture(autouse=True, scope="session")
def _flush_is_quick() -> Iterator[None]:
    """Empty the tables between tests without triggers, since the audit log refuses deletions.

    It deletes, because truncating waits for readers, such as a page that was just closed.
    """

    def sql_flush(
        self: DatabaseOperations, style: object, tables: Iterable[str], **_: object
    ) -> list[str]:
        quoted = map(self.quote_name, sorted(set(tables) - KEPT))
        deletes = [f"DELETE FROM {table}" for table in quoted]  # noqa: S608
        statements = ["SET LOCAL session_replication_role = replica", *deletes]
        return [f"SELECT tests.as_superuser($flush${';'.join(statements)}$flush$)"]

    def put_back(verbosity: int, interactive: bool, db: str) -> None:
        """Restore everything that a new database contains, except the kept tables."""
        create_anonymous_user(None, using=db)  # type: ignore[no-untyped-call]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseOperations, "sql_flush", sql_flush)
        patch.setattr(flush, "emit_post_migrate_signal", put_back)
        yield


def check_what_was_deferred() -> None:
    """Check the foreign keys of all rows that this transaction has stored so far.

    Each test checks at its end what is not yet checked, and rolls that back too: rows that tests
    share would be checked again by every one of them.
    """
    connection.check_constraints()


@contextmanager
def taken_back(blocker: DjangoDbBlocker) -> Iterator[None]:
    """Wrap shared fixtures in a transaction around those of the tests.

    What builds the rows ends with `check_what_was_deferred`.
    """
    with blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


def ended_by_postgres(ended: BaseDatabaseWrapper) -> None:
    """Close the connection in Postgres, as on a restart, before its owner's next request."""
    ended.ensure_connection()
    info = ended.connection.info
    with psycopg.connect(superuser_conninfo(info.dbname)) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [info.backend_pid])
    ended.health_check_enabled, ended.health_check_done = True, False  # type: ignore[attr-defined]
