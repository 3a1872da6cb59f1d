"""The one clock that ends of keys and the like are reckoned by: the database's.

The clocks of the machines that web and workers run on may differ, or jump.
"""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """What time it is there; within a transaction the time when it began."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        now: datetime = cursor.fetchone()[0]
    return now
