"""Retry over a new connection, for threads that keep theirs from call to call.

Django checks a connection before each request, which costs a statement for each part of a call.
Here the work itself finds out that Postgres has ended it.
"""

from collections.abc import Callable

from django.db import InterfaceError, OperationalError, connection


def retry_on_lost_connection(work: Callable[[], None]) -> None:
    """Run `work`, retrying once on a fresh connection. `work` must be idempotent."""
    try:
        work()
    except (OperationalError, InterfaceError):
        connection.close()
        work()
