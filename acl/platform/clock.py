"""The database's clock, by which expiry is decided."""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """Return the database's time; within a transaction the time of its start."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        now: datetime = cursor.fetchone()[0]
    return now
