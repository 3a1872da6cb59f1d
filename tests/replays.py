"""Worlds of tests that are built once in a process, and put back by one statement after that.

Building the usual people takes a hundred statements, and a thousand tests begin with it. The rows
of the first time go into each later test's own transaction with the same keys: sequences are never
rolled back, so that nobody else has them. Where other rows are there already, the world is built;
so it is where the clock is set to another time, which the rows would remember.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, TypeVar

from django.db import connection
from psycopg import sql
from time_machine import escape_hatch

from tests.databases import as_superuser

T = TypeVar("T")
Rows = dict[str, set[str]]  # of each table, as Postgres writes them
# History, which a row that went has left behind: it says nothing of what is there now.
_HISTORY = "acl_rightsperiod"
_AS_USUAL = "SET LOCAL session_replication_role = origin"
_WITHOUT_TRIGGERS = "SET LOCAL session_replication_role = replica"


@dataclass(frozen=True)
class _Recording:
    """Result of the builder, and the statements that restore its rows."""

    made: object
    tables: tuple[str, ...]
    before: tuple[object, ...]
    others: tuple[str, ...]
    referred: tuple[object, ...]
    statements: tuple[str, ...]

    def fits(self) -> bool:
        """Return True if the tables are as full as they were, and texts pass as they did.

        The rows may refer to others that were there: these must be the same.
        """
        return _state_of(self.tables) == self.before and _contents_of(self.others) == self.referred

    def play(self) -> None:
        """Put the rows back. Triggers have done their part already, and keys were checked."""
        as_superuser(_WITHOUT_TRIGGERS, *self.statements, _AS_USUAL)


def replayed(build: Callable[[], T]) -> Callable[[], T]:
    """Decorate a builder of rows: in a transaction it builds once, and then puts the rows back."""
    known: list[_Recording] = []

    @wraps(build)
    def built_or_put_back() -> T:
        if not connection.in_atomic_block or escape_hatch.is_travelling():
            return build()
        if not known:
            made, recording = _recorded(build)
            known.append(recording)
            return made
        if not known[0].fits():
            return build()
        known[0].play()
        return deepcopy(known[0].made)  # type: ignore[return-value]

    return built_or_put_back


def _recorded(build: Callable[[], T]) -> tuple[T, _Recording]:
    every = tuple(_columns())
    state, before = _state_of(every), _rows()
    made = build()
    after = _rows()
    tables = tuple(table for table in every if after[table] != before[table])
    statements = [
        statement
        for table in tables
        for statement in _statements(table, before[table], after[table])
    ]
    numbers = dict(zip(every, state[1:], strict=True))
    counted = tuple(table for table in tables if table != _HISTORY)
    state = (state[0], *(numbers[table] for table in counted))
    others = tuple(table for table in every if before[table] and table not in {*tables, _HISTORY})
    return made, _Recording(
        deepcopy(made), counted, state, others, _contents_of(others), tuple(statements)
    )


def _statements(table: str, before: set[str], after: set[str]) -> list[str]:
    """Return statements that turn the rows before into the rows after."""
    name, columns = sql.Identifier(table), [sql.Identifier(each) for each in _columns()[table]]
    gone = [
        sql.SQL("DELETE FROM {} AS own WHERE own::text = {}").format(name, sql.Literal(row))
        for row in sorted(before - after)
    ]
    new = [sql.SQL("({}::{})").format(sql.Literal(row), name) for row in sorted(after - before)]
    insert = sql.SQL(
        "INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM (VALUES {}) AS rows (own)"
    ).format(
        name,
        sql.SQL(", ").join(columns),
        sql.SQL(", ").join(sql.SQL("(own).{}").format(column) for column in columns),
        sql.SQL(", ").join(new),
    )
    return [each.as_string() for each in (*gone, *([insert] if new else []))]


def _rows() -> Rows:
    """Return all rows of all tables, as text that Postgres reads as the same row."""
    found: Rows = {table: set() for table in _columns()}
    each = (f"SELECT '{table}', own::text FROM \"{table}\" AS own" for table in found)  # noqa: S608
    for table, row in _read(" UNION ALL ".join(each)):
        found[table].add(row)
    return found


def _state_of(tables: tuple[str, ...]) -> tuple[object, ...]:
    """Return how the gate stands, and the number of rows in each table."""
    each = (f'(SELECT count(*) FROM "{table}")' for table in tables)  # noqa: S608
    [state] = _read(f"SELECT {', '.join(['current_setting($$pegboard.gate$$)', *each])}")
    return state


def _contents_of(tables: tuple[str, ...]) -> tuple[object, ...]:
    """Return a digest of each table's rows."""
    each = (
        f'(SELECT sum(hashtextextended(own::text, 0)) FROM "{table}" AS own)'  # noqa: S608
        for table in tables
    )
    return _read(f"SELECT {', '.join(each)}")[0] if tables else ()


@cache
def _columns() -> dict[str, list[str]]:
    """Return the columns of each table, but for those that Postgres generates."""
    found = _read(
        "SELECT relname, array_agg(attname::text ORDER BY attnum) FROM pg_attribute"
        " JOIN pg_class ON pg_class.oid = attrelid"
        " WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
        " AND attnum > 0 AND NOT attisdropped AND attgenerated = '' GROUP BY relname"
    )
    columns = {table: names for table, names in found if table != "django_migrations"}
    columns[_HISTORY].remove("id")  # another one each time
    return columns


def _read(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
