"""Advisory locks that serialize changes of the catalogue."""

from contextlib import AbstractContextManager

import pglock

from acl.platform.database_work import try_lock

_CATALOG = 0x70656762  # arbitrary keys, used nowhere else
_MANIFESTS = 0x70656763


def lock_catalog() -> None:
    """Take the catalogue write lock until the transaction ends."""
    pglock.advisory(_CATALOG, xact=True).acquire()


def lock_manifests() -> None:
    """Take the lock for reading watched folders until the transaction ends."""
    # Reads are stored in their order: a slow one must not overwrite a later one.
    pglock.advisory(_MANIFESTS, xact=True).acquire()


def lock_definitions(integration: int) -> None:
    """Take the lock on an integration's definitions until the transaction ends."""
    pglock.advisory(definitions_key(integration), xact=True).acquire()


def definitions_key(integration: int) -> str:
    """Return the name of the lock on an integration's definitions."""
    return f"catalog.definitions/{integration}"


def sync_key(integration: int) -> str:
    """Return the name of the lock for syncing a server."""
    return f"catalog.sync/{integration}"


def try_sync_lock(integration: int) -> AbstractContextManager[bool]:
    """Return the lock for syncing a server, a context manager that yields True if acquired."""
    # A server may be too slow for one transaction.
    return try_lock(sync_key(integration))
