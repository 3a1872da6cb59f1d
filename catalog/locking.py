"""Changes of the catalogue take turns; the database counts them itself."""

from django.db import connection

_CATALOG = 0x70656762  # any numbers that nothing else locks
_MANIFESTS = 0x70656763


def lock_catalog() -> None:
    """Wait for one's turn to change the catalogue; it ends with the transaction."""
    _lock(_CATALOG)


def lock_manifests() -> None:
    """Wait for one's turn to read the watched folders: what is read later is stored later."""
    _lock(_MANIFESTS)


def _lock(number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])
