"""Changes of the catalogue take turns; the database counts them itself."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

_CATALOG = 0x70656762  # any numbers that nothing else locks
_MANIFESTS = 0x70656763
_DEFINITIONS = 0x7065
_SYNC = 0x7066


def lock_catalog() -> None:
    """Wait for one's turn to change the catalogue; it ends with the transaction."""
    _lock(_CATALOG)


def lock_manifests() -> None:
    """Wait for one's turn to read the watched folders: what is read later is stored later."""
    _lock(_MANIFESTS)


def lock_definitions(integration: int) -> None:
    """Wait for one's turn to say what an integration's definitions are; it ends with the
    transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_DEFINITIONS, integration])


@contextmanager
def only_sync(integration: int) -> Iterator[bool]:
    """Whether nobody else reads this server's definitions now.

    The lock is the connection's, not a transaction's, since a server may take its time; who dies
    with it lets go of it.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [_SYNC, integration])
        mine = bool(cursor.fetchone()[0])
    try:
        yield mine
    finally:
        if mine:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [_SYNC, integration])


def _lock(number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])
