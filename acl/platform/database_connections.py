"""Connections to Postgres: through a pooler, and with statements that are planned once."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from types import NoneType
from typing import Any, NamedTuple, TypeVar
from uuid import UUID, uuid4
from weakref import WeakKeyDictionary

import psycopg
from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connection, connections
from django.db.models import JSONField, Model
from psycopg.adapt import Dumper
from psycopg.pq import ExecStatus, Format

# Connections that lead to a pooler, such as PgBouncer in transaction mode.
#
# Each transaction may then be on another connection to Postgres, where other clients' temporary
# tables, settings and prepared statements would be found, and one's own would not.

# Decided once for each connection: a statement more when it is opened.
_PREPARING: WeakKeyDictionary[psycopg.Connection[Any], bool] = WeakKeyDictionary()


class PooledError(Exception):
    """This needs a connection to Postgres itself."""

    def __init__(self) -> None:
        super().__init__(
            "DATABASE_URL leads to a connection pooler. For this, give it Postgres's own address."
        )


def is_pooled(alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Return True if a pooler is between Django's connection and Postgres."""
    wrapper = connections[alias]
    wrapper.ensure_connection()
    with wrapper.wrap_database_errors:
        return _is_pooled(wrapper.connection)


def require_direct() -> None:
    """Raise PooledError if a pooler is between Django's connection and Postgres."""
    if is_pooled():
        raise PooledError


def may_prepare() -> bool:
    """Return True if a statement prepared on this connection is the one that runs by its name.

    A pooler that does not track them would run another client's statement of the same name.
    """
    connection.ensure_connection()
    with connection.wrap_database_errors:
        return may_prepare_on(connection.connection)


def may_prepare_on(opened: psycopg.Connection[Any]) -> bool:
    """Return the same for a connection of psycopg, whose errors it raises."""
    can_prepare = _PREPARING.get(opened)
    if can_prepare is None:
        can_prepare = _PREPARING[opened] = not _is_pooled(opened) or _is_tracking(opened)
    return can_prepare


def _is_pooled(opened: psycopg.Connection[Any]) -> bool:
    # A pooler makes up the number that clients cancel by. Postgres gives its process's.
    row = opened.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    return row is None or row[0] != opened.info.backend_pid


def _is_tracking(opened: psycopg.Connection[Any]) -> bool:
    """Return True if the pooler gives prepared statements names of its own, as PgBouncer 1.21."""
    name = f"pegboard_{uuid4().hex}"
    with opened.transaction():  # so that all of it is on one connection to Postgres
        prepared = opened.pgconn.prepare(name.encode(), b"SELECT 1")
        if prepared.status != ExecStatus.COMMAND_OK:
            return False
        row = opened.execute(
            "SELECT 1 FROM pg_prepared_statements WHERE name = %s", [name], prepare=False
        ).fetchone()
        if row:
            opened.execute(f"DEALLOCATE {name}".encode(), prepare=False)
    return not row


# Prepared statements, which each connection plans once.
#
# Planning a statement about rights takes longer than running it. Rows become model instances
# without the ORM, which takes a millisecond to write a statement.

Row = TypeVar("Row", bound=Model)
_PARAMETER = re.compile(r"%\((\w+)\)s")


@dataclass(frozen=True, slots=True)
class BinaryValue:
    """A parameter in Postgres's binary format: as text, a vector costs half a millisecond."""

    content: bytes


class _BinaryDumper(Dumper):
    """Dumps without a type: the statement casts it, so no connection has to look the type up."""

    format = Format.BINARY

    def dump(self, obj: BinaryValue) -> bytes:
        return obj.content


# Once, since each cursor that registers it copies the table of all types.
psycopg.adapters.register_dumper(BinaryValue, _BinaryDumper)


class _PreparingCursor(psycopg.RawCursor[Any]):
    """Cursor with server-side binding and preparation at first use, which Django's lacks."""

    def execute(self, query: Any, params: Any = None, **kwargs: Any) -> "_PreparingCursor":
        super().execute(query, params, prepare=may_prepare_on(self.connection), **kwargs)
        return self


class _BinaryCursor(_PreparingCursor):
    """Reads results in the binary format."""

    def execute(self, query: Any, params: Any = None, **kwargs: Any) -> "_BinaryCursor":
        super().execute(query, params, binary=True, **kwargs)
        return self


def rows_of(
    statement: str, parameters: Mapping[str, Any], *, twice: bool = False, binary: bool = False
) -> list[Any]:
    """Return all rows of a statement with %(name)s parameters, whose text is the same each time.

    `twice` says that it may run twice: then it is run again on a new connection if Postgres has
    ended this one, instead of checking the connection first, which is a statement more. `binary`
    reads numbers and vectors faster, and needs a cast for each parameter.
    """
    # Django's proxy looks up the thread's connection for each attribute, which adds up.
    wrapper = connections[DEFAULT_DB_ALIAS]
    # A connection that is opened now works, or Postgres is down: a retry would double the wait.
    if not twice or wrapper.in_atomic_block or wrapper.connection is None:
        wrapper.close_if_health_check_failed()  # at most once in a request
        return _fetch(statement, parameters, binary=binary)
    wrapper.health_check_done = True  # type: ignore[attr-defined]
    try:
        return _fetch(statement, parameters, binary=binary)
    except (OperationalError, InterfaceError):
        if not wrapper.connection.closed:
            raise
        wrapper.close()
        return _fetch(statement, parameters, binary=binary)


class Table(NamedTuple):
    """The rows of a statement, and the names of their columns."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def table_of(
    statement: str, parameters: Mapping[str, Any], *, alias: str = DEFAULT_DB_ALIAS
) -> Table:
    """Return the rows of a statement like `rows_of` with `binary`, and their columns' names."""
    connections[alias].close_if_health_check_failed()
    with _executed(statement, parameters, binary=True, alias=alias) as cursor:
        return Table(tuple(column.name for column in cursor.description), cursor.fetchall())


def _fetch(statement: str, parameters: Mapping[str, Any], *, binary: bool) -> list[Any]:
    with _executed(statement, parameters, binary=binary) as cursor:
        return list(cursor.fetchall())


@contextmanager
def _executed(
    statement: str, parameters: Mapping[str, Any], *, binary: bool, alias: str = DEFAULT_DB_ALIAS
) -> Iterator[Any]:
    wrapper = connections[alias]
    wrapper.ensure_connection()
    query, names = _numbered(statement)
    raw = (_BinaryCursor if binary else _PreparingCursor)(wrapper.connection)
    # Django's wrapper around our cursor, so that statements are counted and errors translated.
    with wrapper._prepare_cursor(raw) as cursor:  # type: ignore[attr-defined]
        cursor.execute(query, [parameters[name] for name in names])
        yield cursor


# psycopg itself reads a statement of more than 4 kB for its parameters again at each execution.
@lru_cache(maxsize=256)
def _numbered(statement: str) -> tuple[str, tuple[str, ...]]:
    """Return the statement with $1, $2 … in place of its names, and the names in that order."""
    names = tuple(dict.fromkeys(_PARAMETER.findall(statement)))
    numbered = _PARAMETER.sub(lambda match: f"${names.index(match[1]) + 1}", statement)
    return numbered.replace("%%", "%"), names


def insert_row(row: Model) -> None:
    """Insert a new row with all of its columns. The ORM sends no signals for it."""
    wrapper = connections[DEFAULT_DB_ALIAS]
    values = {}
    for field in type(row)._meta.concrete_fields:
        value = field.pre_save(row, add=True)
        is_plain = type(value) in _PLAIN and not isinstance(field, JSONField)
        values[field.attname] = value if is_plain else field.get_db_prep_save(value, wrapper)
    with _executed(_insertion(type(row)), values, binary=False):
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS


# Columns take these as they are, but for JSON.
_PLAIN = {NoneType, str, int, bool, UUID}


@cache
def _insertion(model: type[Model]) -> str:
    fields = model._meta.concrete_fields
    columns = ", ".join(str(field.column) for field in fields)
    places = ", ".join(f"%({field.attname})s" for field in fields)
    return f"INSERT INTO {model._meta.db_table} ({columns}) VALUES ({places})"  # noqa: S608


@cache
def columns_of(model: type[Model], table: str) -> str:
    """Return the model's columns as SQL, in the order that `made` expects."""
    compiler = model._default_manager.all().query.get_compiler(DEFAULT_DB_ALIAS)
    fields = [(field, f"{table}.{field.column}") for field in model._meta.concrete_fields]
    # Some fields are read in another type, as in the ORM's own statements.
    return ", ".join(field.select_format(compiler, sql, ())[0] for field, sql in fields)


def made(model: type[Row], values: Sequence[Any]) -> Row:
    """Return the model instance for the values of `columns_of`."""
    names, readers = _reading(model)
    converted = list(values)
    for place, reader in readers:
        converted[place] = reader(converted[place], connection)
    return model.from_db(DEFAULT_DB_ALIAS, names, converted)


def _reader(field: Any) -> Any:
    read = getattr(field, "from_db_value", None)
    return read and (lambda value, place: read(value, field.cached_col, place))


@cache
def _reading(model: type[Model]) -> tuple[list[str], list[tuple[int, Any]]]:
    """Return the names of the fields, and converters such as for JSON, by position."""
    fields = model._meta.concrete_fields
    # By the column, as the ORM does: a field reads its own stored values with more suspicion.
    readers = [(place, _reader(field)) for place, field in enumerate(fields)]
    return [field.attname for field in fields], [
        (place, reader) for place, reader in readers if reader
    ]
