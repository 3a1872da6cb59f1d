"""Advisory locks for work that is longer than its transactions."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pglock
from django.db import DatabaseError, connection


@contextmanager
def try_lock(name: str) -> Iterator[bool]:
    """Hold the lock of that name; yield False, without waiting, if another process holds it.

    Postgres releases it if this process dies.
    """
    # A lock of the session would stay with a connection that a pooler gives to other clients.
    holder = connection.copy()
    try:
        holder.set_autocommit(False)
        with holder.cursor() as cursor:
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [lock_key(name)])
            (acquired,) = cursor.fetchone()
        yield acquired
    finally:
        with suppress(DatabaseError):
            holder.rollback()
        holder.close()


def lock_key(name: str) -> int:
    """Return Postgres's key for the lock of that name."""
    return pglock.advisory(name).int_lock_id
