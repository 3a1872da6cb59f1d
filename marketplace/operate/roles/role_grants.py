"""The owner's part, done after every migration: what the application's role may do with each table.

A table that a migration has just made is in it, and so is one that was restored.
"""

from collections.abc import Collection, Iterator
from typing import Any

import psycopg
from django.conf import settings
from django.db import connections, transaction
from psycopg import sql

from marketplace.operate.roles.role_names import (
    ANALYZED,
    AUDIT,
    AUDIT_ENTRIES,
    AUDIT_HEAD,
    READ_ONLY,
)

_LOCK = 7302  # two programs that migrate at once take turns
_WITH_MAINTAIN = 170000  # the first version of Postgres that has this right
_LOG = (AUDIT_ENTRIES, AUDIT_HEAD)


def grant_rights(alias: str = "default") -> None:
    """Set the rights of the application's role anew, in one step; nothing where it is the owner."""
    app, connection = settings.DATABASE_APP_ROLE, connections[alias]
    if app in ("", connection.settings_dict["USER"]):
        return
    with transaction.atomic(using=alias), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        tables = _names(cursor, _OWNED, [["r", "p"]])
        log = [table for table in _LOG if table in tables]
        if log and _may_use_audit_role(cursor):
            _hand_over(cursor, log)
        for statement in _everywhere(cursor, app, tables):
            cursor.execute(statement)
        for statement in _on_tables(app, tables, _version(connection)):
            cursor.execute(statement)
        if AUDIT_ENTRIES in log:
            _let_append(cursor, app)


def _everywhere(cursor: Any, app: str, tables: Collection[str]) -> Iterator[sql.Composable]:
    (database,) = _names(cursor, "SELECT current_database()")
    yield _on("REVOKE ALL ON DATABASE {} FROM PUBLIC", [database])
    yield _on("GRANT CONNECT, TEMPORARY ON DATABASE {} TO {}", [database], app)
    yield _on("REVOKE ALL ON SCHEMA {} FROM PUBLIC, {}", ["public"], app)
    yield _on("GRANT USAGE ON SCHEMA {} TO {}", ["public"], app)
    # For a program that already runs when a later migration makes a table.
    defaults = "ALTER DEFAULT PRIVILEGES IN SCHEMA {} GRANT "
    yield _on(f"{defaults} SELECT, INSERT, UPDATE, DELETE ON TABLES TO {{}}", ["public"], app)
    yield _on(f"{defaults} USAGE ON SEQUENCES TO {{}}", ["public"], app)
    if sequences := _names(cursor, _OWNED, [["S"]]):
        yield _on("REVOKE ALL ON SEQUENCE {} FROM PUBLIC, {}", sequences, app)
        # The log's ids are given without anybody's right to a sequence.
        used = [name for name in sequences if name.removesuffix("_id_seq") not in _LOG]
        yield _on("GRANT USAGE ON SEQUENCE {} TO {}", used, app)
    if tables:
        yield _on("REVOKE ALL ON {} FROM PUBLIC, {}", tables, app)
        yield _on("GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}", tables, app)


def _on_tables(app: str, tables: Collection[str], version: int) -> Iterator[sql.Composable]:
    if read_only := [table for table in READ_ONLY if table in tables]:
        yield _on("REVOKE INSERT, UPDATE, DELETE ON {} FROM {}", read_only, app)
    analyzed = [table for table in ANALYZED if table in tables]
    if analyzed and version >= _WITH_MAINTAIN:
        yield _on("GRANT MAINTAIN ON {} TO {}", analyzed, app)


def _let_append(cursor: Any, app: str) -> None:
    """Entries may be added and read. Their ids come from the database, as their numbers do."""
    columns = sql.SQL(", ").join(map(sql.Identifier, _names(cursor, _COLUMNS, [AUDIT_ENTRIES])))
    cursor.execute(_on("REVOKE INSERT, UPDATE, DELETE ON {} FROM {}", [AUDIT_ENTRIES], app))
    grant = sql.SQL("GRANT INSERT ({}) ON {} TO {}")
    cursor.execute(grant.format(columns, sql.Identifier(AUDIT_ENTRIES), sql.Identifier(app)))
    for function in _names(cursor, _FUNCTIONS):
        cursor.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        if function == "acl_audit_placed()":
            # It alone writes the head and the numbers; no temporary table takes their place.
            cursor.execute(
                f"ALTER FUNCTION {function} SECURITY DEFINER"
                " SET search_path = pg_catalog, public, pg_temp"
            )


def _hand_over(cursor: Any, log: Collection[str]) -> None:
    """Tables and functions of the log become the audit role's."""
    # A new owner needs the right to make things there, for the moment of the change.
    cursor.execute(_on("GRANT CREATE, USAGE ON SCHEMA {} TO {}", ["public"], AUDIT))
    for table in log:
        cursor.execute(_on("ALTER TABLE {} OWNER TO {}", [table], AUDIT))
    for function in _names(cursor, _FUNCTIONS):
        cursor.execute(_on(f"ALTER FUNCTION {function} OWNER TO {{}}", None, AUDIT))
    cursor.execute(_on("REVOKE CREATE ON SCHEMA {} FROM {}", ["public"], AUDIT))


def _on(text: str, things: Collection[str] | None, *role: str) -> sql.Composed:
    names = [] if things is None else [sql.SQL(", ").join(map(sql.Identifier, things))]
    return sql.SQL(text).format(*names, *map(sql.Identifier, role))


def _names(cursor: Any, query: str, parameters: list[Any] | None = None) -> list[str]:
    cursor.execute(query, parameters or [])
    return [name for (name,) in cursor.fetchall()]


def _may_use_audit_role(cursor: Any) -> bool:
    return bool(_names(cursor, _MEMBER, [AUDIT]))


def _version(connection: Any) -> int:
    server: psycopg.Connection = connection.connection
    return server.info.server_version


# What others have put there, such as views of an extension, is left alone.
_OWNED = """
SELECT relname FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = ANY (%s)
  AND pg_has_role(relowner, 'USAGE') ORDER BY relname
"""
_MEMBER = "SELECT 1 FROM pg_roles WHERE rolname = %s AND pg_has_role(oid, 'USAGE')"
_COLUMNS = """
SELECT attname FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'id'
ORDER BY attnum
"""
_FUNCTIONS = r"""
SELECT oid::regprocedure::text FROM pg_proc
WHERE pronamespace = 'public'::regnamespace AND proname LIKE 'acl\_audit\_%%' ORDER BY 1
"""
