"""Advisory locks that serialize changes of the catalogue."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

_CATALOG = 0x70656762  # arbitrary keys, used nowhere else
_MANIFESTS = 0x70656763
_DEFINITIONS = 0x7065
_SYNC = 0x7066


def lock_catalog() -> None:
    """Take the catalogue write lock until the transaction ends."""
    _lock(_CATALOG)


def lock_manifests() -> None:
    """Take the lock for reading watched folders until the transaction ends."""
    # Reads are stored in their order: a slow one must not overwrite a later one.
    _lock(_MANIFESTS)


def lock_definitions(integration: int) -> None:
    """Take the lock on an integration's definitions until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_DEFINITIONS, integration])


@contextmanager
def try_sync_lock(integration: int) -> Iterator[bool]:
    """Try to take the lock for syncing a server; yield True if acquired."""
    with connection.cursor() as cursor:
        # A session lock, because a server may be too slow for one transaction. Postgres releases it
        # if this process dies.
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [_SYNC, integration])
        acquired = bool(cursor.fetchone()[0])
    try:
        yield acquired
    finally:
        if acquired:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [_SYNC, integration])


def _lock(number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])
