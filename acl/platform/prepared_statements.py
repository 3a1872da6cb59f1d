"""Statements that every connection prepares once: planning what rights ask takes longer than
answering it. Their rows become objects without the ORM, which takes a millisecond to write one."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connection
from django.db.models import Model

Row = TypeVar("Row", bound=Model)


class _Preparing(psycopg.Cursor[Any]):
    """Prepares at the first use; Django's own cursor binds on the client, and cannot."""

    def execute(self, query: Any, params: Any = None, **kwargs: Any) -> "_Preparing":
        super().execute(query, params, prepare=True, **kwargs)
        return self


def rows_of(statement: str, parameters: Mapping[str, Any], *, twice: bool = False) -> list[Any]:
    """All rows of a statement that is the same each time.

    Whether the connection still lives is asked once in a request, as Django does. A statement that
    may be carried out `twice` finds it out itself, which is a statement less.
    """
    # One that is opened now lives, or Postgres is away: to try that again would double the wait.
    if not twice or connection.in_atomic_block or connection.connection is None:
        connection.close_if_health_check_failed()
        return _asked(statement, parameters)
    connection.health_check_done = True  # type: ignore[attr-defined]
    try:
        return _asked(statement, parameters)
    except (OperationalError, InterfaceError):
        if not connection.connection.closed:
            raise
        connection.close()
        return _asked(statement, parameters)


def _asked(statement: str, parameters: Mapping[str, Any]) -> list[Any]:
    connection.ensure_connection()
    # Django's wrapper around our cursor, so that statements are counted and failures translated.
    raw = _Preparing(connection.connection)
    with connection._prepare_cursor(raw) as cursor:  # type: ignore[attr-defined]
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


@cache
def columns_of(model: type[Model], table: str) -> str:
    """The model's columns, for `made`."""
    return ", ".join(f"{table}.{field.column}" for field in model._meta.concrete_fields)


def made(model: type[Row], values: Sequence[Any]) -> Row:
    """The object whose columns were read."""
    names, readers = _reading(model)
    read = list(values)
    for place, reader in readers:
        read[place] = reader(read[place], None, connection)
    return model.from_db(DEFAULT_DB_ALIAS, names, read)


@cache
def _reading(model: type[Model]) -> tuple[list[str], list[tuple[int, Any]]]:
    """The fields' names, and what makes values of JSON and the like, by its place."""
    fields = model._meta.concrete_fields
    readers = [(place, getattr(field, "from_db_value", None)) for place, field in enumerate(fields)]
    return [field.attname for field in fields], [(place, one) for place, one in readers if one]
