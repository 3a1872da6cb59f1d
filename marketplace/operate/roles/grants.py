"""Rights of the application's role on each table, set by the owner after every migration.

That covers tables that a migration has just created, or that were restored.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pglock
import psycopg
from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import DatabaseError, connection, connections, transaction
from psycopg import sql

from marketplace.operate.roles.names import (
    ANALYZED,
    AUDIT,
    AUDIT_ARCHIVE,
    AUDIT_ENTRIES,
    AUDIT_HEAD,
    READ_ONLY,
)

_LOCK = 7302  # advisory lock for concurrent migrations
_MAINTAIN_VERSION = 170000  # MAINTAIN exists since Postgres 17
_AUDIT_TABLES = (AUDIT_ENTRIES, AUDIT_HEAD, AUDIT_ARCHIVE)


def grant_rights(alias: str = "default") -> None:
    """Set the rights of the application's role, atomically. Does nothing if it is the owner."""
    app, connection = settings.DATABASE_APP_ROLE, connections[alias]
    if app in ("", connection.settings_dict["USER"]):
        return
    with transaction.atomic(using=alias), connection.cursor() as cursor:
        pglock.advisory(_LOCK, using=alias, xact=True).acquire()
        tables = _read_names(cursor, _OWNED, [["r", "p"]])
        log = [table for table in _AUDIT_TABLES if table in tables]
        if log and bool(_read_names(cursor, _MEMBER, [AUDIT])):
            _change_owner(cursor, log)
        for statement in _common_grants(cursor, app, tables):
            cursor.execute(statement)
        server: psycopg.Connection = connection.connection
        for statement in _table_grants(app, tables, server.info.server_version):
            cursor.execute(statement)
        if AUDIT_ENTRIES in log:
            _allow_append(cursor, app)


def _common_grants(cursor: Any, app: str, tables: Collection[str]) -> Iterator[sql.Composable]:
    (database,) = _read_names(cursor, "SELECT current_database()")
    yield _statement("REVOKE ALL ON DATABASE {} FROM PUBLIC", [database])
    yield _statement("GRANT CONNECT, TEMPORARY ON DATABASE {} TO {}", [database], app)
    yield _statement("REVOKE ALL ON SCHEMA {} FROM PUBLIC, {}", ["public"], app)
    yield _statement("GRANT USAGE ON SCHEMA {} TO {}", ["public"], app)
    # For a program that is already running when a later migration creates a table.
    defaults = "ALTER DEFAULT PRIVILEGES IN SCHEMA {} GRANT "
    yield _statement(
        f"{defaults} SELECT, INSERT, UPDATE, DELETE ON TABLES TO {{}}", ["public"], app
    )
    yield _statement(f"{defaults} USAGE ON SEQUENCES TO {{}}", ["public"], app)
    if sequences := _read_names(cursor, _OWNED, [["S"]]):
        yield _statement("REVOKE ALL ON SEQUENCE {} FROM PUBLIC, {}", sequences, app)
        # Ids of the audit log are assigned without a right to its sequences.
        used = [name for name in sequences if name.removesuffix("_id_seq") not in _AUDIT_TABLES]
        yield _statement("GRANT USAGE ON SEQUENCE {} TO {}", used, app)
    if tables:
        yield _statement("REVOKE ALL ON {} FROM PUBLIC, {}", tables, app)
        yield _statement("GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}", tables, app)


def _table_grants(app: str, tables: Collection[str], version: int) -> Iterator[sql.Composable]:
    if read_only := [table for table in READ_ONLY if table in tables]:
        yield _statement("REVOKE INSERT, UPDATE, DELETE ON {} FROM {}", read_only, app)
    analyzed = [table for table in ANALYZED if table in tables]
    if analyzed and version >= _MAINTAIN_VERSION:
        yield _statement("GRANT MAINTAIN ON {} TO {}", analyzed, app)


def _allow_append(cursor: Any, app: str) -> None:
    """Allow adding and reading entries. Ids and numbers come from the database."""
    columns = sql.SQL(", ").join(
        map(sql.Identifier, _read_names(cursor, _COLUMNS, [AUDIT_ENTRIES]))
    )
    cursor.execute(_statement("REVOKE INSERT, UPDATE, DELETE ON {} FROM {}", [AUDIT_ENTRIES], app))
    grant = sql.SQL("GRANT INSERT ({}) ON {} TO {}")
    cursor.execute(grant.format(columns, sql.Identifier(AUDIT_ENTRIES), sql.Identifier(app)))
    for function in _read_names(cursor, _FUNCTIONS):
        cursor.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        if function == "acl_audit_placed()":
            # Only this function writes head and numbers. The search path excludes temporary tables.
            cursor.execute(
                f"ALTER FUNCTION {function} SECURITY DEFINER"
                " SET search_path = pg_catalog, public, pg_temp"
            )


def _change_owner(cursor: Any, log: Collection[str]) -> None:
    """Make the audit role own the tables and functions of the log."""
    # A new owner needs the right to create objects there, during the change.
    cursor.execute(_statement("GRANT CREATE, USAGE ON SCHEMA {} TO {}", ["public"], AUDIT))
    for table in log:
        cursor.execute(_statement("ALTER TABLE {} OWNER TO {}", [table], AUDIT))
    for function in _read_names(cursor, _FUNCTIONS):
        cursor.execute(_statement(f"ALTER FUNCTION {function} OWNER TO {{}}", None, AUDIT))
    cursor.execute(_statement("REVOKE CREATE ON SCHEMA {} FROM {}", ["public"], AUDIT))


def _statement(text: str, objects: Collection[str] | None, *role: str) -> sql.Composed:
    names = [] if objects is None else [sql.SQL(", ").join(map(sql.Identifier, objects))]
    return sql.SQL(text).format(*names, *map(sql.Identifier, role))


def _read_names(cursor: Any, query: str, parameters: list[Any] | None = None) -> list[str]:
    cursor.execute(query, parameters or [])
    return [name for (name,) in cursor.fetchall()]


# Objects of other owners, such as views of an extension, are left alone.
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


# Rights of the application's role that it does not need, if an operator set no roles apart.
# `manage.py check --deploy` warns of each.

_POWERS = """
SELECT current_user, role.rolsuper, role.rolcreaterole, coalesce(entry.owned, false)
FROM pg_roles role LEFT JOIN LATERAL (
  SELECT pg_has_role(relowner, 'MEMBER') AS owned FROM pg_class
  WHERE relname = 'acl_auditentry' AND relnamespace = 'public'::regnamespace
) entry ON true
WHERE role.rolname = current_user
"""
REMEDY = "Use separate roles: see `manage.py prepare_database` in docs/running.md."


def list_excess_rights() -> list[str]:
    """Describe as sentences what an intruder in the application could do to the database."""
    with connection.cursor() as cursor:
        cursor.execute(_POWERS)
        role, superuser, makes_roles, owns_log = cursor.fetchone()
    if superuser:
        return [f"the role {role} is a superuser: it can change every table, the audit log too"]
    rights = []
    if makes_roles:
        rights.append(f"the role {role} can create other roles")
    if owns_log:
        rights.append(f"the role {role} owns the audit log, and can disable its protection")
    return rights


@register(Tags.database, deploy=True)
def check_database_role(
    app_configs: Any, databases: Sequence[str] | None = None, **options: Any
) -> list[CheckMessage]:
    """Return a warning for each right of the application's role that its work does not need."""
    try:
        powers = list_excess_rights()
    except DatabaseError:
        return []  # other checks report an unreachable database
    return [
        Warning(f"In the database, {power}.", hint=REMEDY, id="pegboard.W001") for power in powers
    ]
