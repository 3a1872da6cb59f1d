"""The audit log, as tests end a transaction on it and as an intruder changes it."""

from django.db import connection

from tests.databases import as_superuser


def commit() -> None:
    """Run what a commit does to this transaction's entries."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def tamper(statement: str) -> None:
    """Change the log as only a superuser can, with its triggers disabled."""
    as_superuser(
        "SET LOCAL session_replication_role = replica",
        statement,
        "SET LOCAL session_replication_role = origin",
    )
