"""Connections that lead to a pooler, such as PgBouncer in transaction mode.

Each transaction may then be on another connection to Postgres, where other clients' temporary
tables, settings and prepared statements would be found, and one's own would not.
"""

from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

import psycopg
from django.db import DEFAULT_DB_ALIAS, connection, connections
from psycopg.pq import ExecStatus

# Decided once for each connection: a statement more when it is opened.
_PREPARING: WeakKeyDictionary[psycopg.Connection[Any], bool] = WeakKeyDictionary()


class PooledError(Exception):
    """This needs a connection to Postgres itself."""

    def __init__(self) -> None:
        super().__init__(
            "DATABASE_URL leads to a connection pooler. For this, give it Postgres's own address."
        )


def is_pooled(alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Return True if a pooler is between Django's connection and Postgres."""
    wrapper = connections[alias]
    wrapper.ensure_connection()
    with wrapper.wrap_database_errors:
        return _is_pooled(wrapper.connection)


def require_direct() -> None:
    """Raise PooledError if a pooler is between Django's connection and Postgres."""
    if is_pooled():
        raise PooledError


def may_prepare() -> bool:
    """Return True if a statement prepared on this connection is the one that runs by its name.

    A pooler that does not track them would run another client's statement of the same name.
    """
    connection.ensure_connection()
    with connection.wrap_database_errors:
        return may_prepare_on(connection.connection)


def may_prepare_on(opened: psycopg.Connection[Any]) -> bool:
    """Return the same for a connection of psycopg, whose errors it raises."""
    can_prepare = _PREPARING.get(opened)
    if can_prepare is None:
        can_prepare = _PREPARING[opened] = not _is_pooled(opened) or _is_tracking(opened)
    return can_prepare


def _is_pooled(opened: psycopg.Connection[Any]) -> bool:
    # A pooler makes up the number that clients cancel by. Postgres gives its process's.
    row = opened.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    return row is None or row[0] != opened.info.backend_pid


def _is_tracking(opened: psycopg.Connection[Any]) -> bool:
    """Return True if the pooler gives prepared statements names of its own, as PgBouncer 1.21."""
    name = f"pegboard_{uuid4().hex}"
    with opened.transaction():  # so that all of it is on one connection to Postgres
        prepared = opened.pgconn.prepare(name.encode(), b"SELECT 1")
        if prepared.status != ExecStatus.COMMAND_OK:
            return False
        row = opened.execute(
            "SELECT 1 FROM pg_prepared_statements WHERE name = %s", [name], prepare=False
        ).fetchone()
        if row:
            opened.execute(f"DEALLOCATE {name}".encode(), prepare=False)
    return not row
