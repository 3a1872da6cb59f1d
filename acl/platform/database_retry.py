"""Connections to Postgres that last, in threads that work on one call after the other.

Django asks a connection whether it still lives before each request: a statement more for each part
of a call. Here it is found out by the work itself.
"""

from collections.abc import Callable

from django.db import InterfaceError, OperationalError, connection


def with_a_connection(work: Callable[[], None]) -> None:
    """Do it, and once more over a new connection where Postgres has ended the old one: the work is
    safe to do twice."""
    try:
        work()
    except (OperationalError, InterfaceError):
        connection.close()
        work()
