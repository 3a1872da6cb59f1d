"""Databases beside the one in use: made, worked on, and put in its place.

All of it goes through the server's own `postgres` database, as the user that the settings name.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection, connections
from psycopg import sql

from marketplace.operate.pause import LOOK_SECONDS, paused
from marketplace.operate.roles.role_names import TEMPLATE

# Whoever has said nothing for so long is not in the midst of a request.
_QUIET_SECONDS = 4 * LOOK_SECONDS
_PATIENCE_SECONDS = 30.0
_POLL_SECONDS = 0.05
_BUSY = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = %(name)s AND pid <> pg_backend_pid() AND backend_type = 'client backend'
  AND (state <> 'idle' OR state_change > clock_timestamp() - %(quiet)s * interval '1 second')
"""
# With pgvector in it, which not every role may add.
_PREPARED = "SELECT 1 FROM pg_database WHERE datname = %s AND datistemplate"
# Postgres itself ends its autovacuum workers, which nobody else may, when a database is renamed,
# copied or dropped. A superuser's session is left to the superuser.
_END = """
SELECT pg_terminate_backend(a.pid, 5000)
FROM pg_stat_activity a JOIN pg_roles r ON r.oid = a.usesysid AND NOT r.rolsuper
WHERE a.datname = ANY (%s)
"""


class MayNotMakeError(Exception):
    """The user of the database may not make another."""


def name_in_use() -> str:
    """The database that the settings name."""
    return str(connection.settings_dict["NAME"])


def make_database(name: str) -> None:
    """An empty database beside the one in use."""
    try:
        with _administering() as cursor:
            prepared = cursor.execute(_PREPARED, [TEMPLATE]).fetchone()
            template = TEMPLATE if prepared else "template0"
            cursor.execute(_named("CREATE DATABASE {} TEMPLATE {}", name, template))
    except psycopg.errors.InsufficientPrivilege:
        raise MayNotMakeError(
            "The database's role may not make databases, so nothing can be restored beside the "
            "one in use: name an empty database in DATABASE_URL, and restore into that."
        ) from None


def drop_database(name: str) -> None:
    """Remove a database that nobody needs."""
    with _administering() as cursor:
        cursor.execute(_named("DROP DATABASE IF EXISTS {} WITH (FORCE)", name))


def is_empty() -> bool:
    """Whether the database in use has no tables."""
    return not connection.introspection.table_names()


@contextmanager
def working_on(name: str) -> Iterator[None]:
    """Let Django's connection be to another database for a while."""
    before = name_in_use()
    _reconnect(name)
    try:
        yield
    finally:
        _reconnect(before)


def take_place(name: str, *, kept_as: str) -> float:
    """Put the database `name` where the one in use is, which stays under another name; for how many
    seconds requests had to wait."""
    in_use = name_in_use()
    connections.close_all()
    started = time.monotonic()
    with paused() as waiting, _administering() as cursor:
        if waiting:
            _wait_until_quiet(cursor, in_use)
        cursor.execute(_named("ALTER DATABASE {} WITH ALLOW_CONNECTIONS false", in_use))
        try:
            cursor.execute(_END, [[in_use, name]])
            with cursor.connection.transaction():
                cursor.execute(_named("ALTER DATABASE {} RENAME TO {}", in_use, kept_as))
                cursor.execute(_named("ALTER DATABASE {} RENAME TO {}", name, in_use))
        except BaseException:
            cursor.execute(_named("ALTER DATABASE {} WITH ALLOW_CONNECTIONS true", in_use))
            raise
        cursor.execute(_named("ALTER DATABASE {} WITH ALLOW_CONNECTIONS true", kept_as))
    return time.monotonic() - started


def _wait_until_quiet(cursor: psycopg.Cursor, name: str) -> None:
    """Until what was begun before the pause has come to its end, or has had its time."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until:
        row = cursor.execute(_BUSY, {"name": name, "quiet": _QUIET_SECONDS}).fetchone()
        if row == (0,):
            return
        time.sleep(_POLL_SECONDS)


@contextmanager
def _administering() -> Iterator[psycopg.Cursor]:
    parameters: dict[str, Any] = connection.get_connection_params() | {"dbname": "postgres"}
    parameters.pop("cursor_factory", None)
    with psycopg.connect(**parameters, autocommit=True) as administrator:
        yield administrator.cursor()


def _named(statement: str, *names: str) -> sql.Composed:
    return sql.SQL(statement).format(*map(sql.Identifier, names))


def _reconnect(name: str) -> None:
    connections.close_all()
    connection.settings_dict["NAME"] = name
