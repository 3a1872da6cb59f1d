"""Statements that every connection prepares once: planning what rights ask takes longer than
answering it."""

from collections.abc import Mapping
from typing import Any

import psycopg
from django.db import connection


class _Preparing(psycopg.Cursor[Any]):
    """Prepares at the first use; Django's own cursor binds on the client, and cannot."""

    def execute(self, query: Any, params: Any = None, **kwargs: Any) -> "_Preparing":
        super().execute(query, params, prepare=True, **kwargs)
        return self


def rows_of(statement: str, parameters: Mapping[str, Any]) -> list[Any]:
    """All rows of a statement that is the same each time."""
    connection.ensure_connection()
    # Django's wrapper around our cursor, so that statements are counted and failures translated.
    raw = _Preparing(connection.connection)
    with connection._prepare_cursor(raw) as cursor:  # type: ignore[attr-defined]
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())
