"""Databases beside the one in use, and pg_dump and pg_restore."""

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

import psycopg
from django.db import connection, connections
from psycopg import sql

from acl.platform.database_work import LEASE_SESSION
from marketplace.operate._pause import CHECK_INTERVAL_SECONDS, pause_requests
from marketplace.operate.embedded.postgres import postgres_programs
from marketplace.operate.roles.names import TEMPLATE

# Run pg_dump and pg_restore, from the package of the embedded server.
#
# They connect to the configured server. The password is passed in their environment, which only
# their own account can read, not in their arguments.

OnTable = Callable[[str], None]
# Settings of a DATABASE_URL, and the libpq variables for them.
_PARAMETERS = {
    "HOST": "PGHOST", "PORT": "PGPORT", "USER": "PGUSER", "PASSWORD": "PGPASSWORD",
    "sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
}  # fmt: skip
# The restoring role owns everything. Comments of extensions can only be set by superusers.
_COMMON_OPTIONS = ("--no-owner", "--no-privileges", "--verbose")
_CHUNK_BYTES = 1024 * 1024
_LAST_LINES = 5


class ProgramFailedError(Exception):
    """Failure of a Postgres program, with its last lines of output."""


def dump(*, snapshot: str, table_done: OnTable) -> Iterator[bytes]:
    """Yield a dump of the snapshot, in pg_dump's custom format."""
    command = ["--format=custom", f"--snapshot={snapshot}", *_COMMON_OPTIONS]
    with _start("pg_dump", command, stdin=None) as program:
        reader = _StderrReader(program.stderr, "dumping contents of table", table_done)
        if program.stdout is not None:
            while chunk := program.stdout.read(_CHUNK_BYTES):
                yield chunk
        reader.end(program)


def restore(chunks: Iterable[bytes], *, database: str, table_done: OnTable) -> None:
    """Restore a dump into an empty database, in one transaction."""
    command = [f"--dbname={database}", "--no-comments", "--single-transaction", *_COMMON_OPTIONS]
    with _start("pg_restore", command, stdin=subprocess.PIPE) as program:
        reader = _StderrReader(program.stderr, "processing data for table", table_done)
        if program.stdin is not None:
            with suppress(BrokenPipeError):  # stderr says why
                for chunk in chunks:
                    program.stdin.write(chunk)
                program.stdin.close()
        reader.end(program)


def _start(name: str, arguments: list[str], *, stdin: int | None) -> subprocess.Popen[bytes]:
    values = connection.settings_dict
    values = values | values.get("OPTIONS", {})
    environment = {name: value for name, value in os.environ.items() if name.startswith("PG")}
    environment |= {name: str(values[key]) for key, name in _PARAMETERS.items() if values.get(key)}
    return subprocess.Popen(  # noqa: S603 - Postgres's own
        [postgres_programs() / name, *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE if stdin is None else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment | {"PATH": os.defpath, "LC_ALL": "C", "PGDATABASE": str(values["NAME"])},
    )


class _StderrReader:
    """Reads a program's stderr: the current table, and the last lines."""

    def __init__(self, stderr: IO[bytes] | None, prefix: str, table_done: OnTable) -> None:
        self._last: list[str] = []
        self._thread = threading.Thread(target=self._listen, args=(stderr, prefix, table_done))
        self._thread.start()

    def _listen(self, stderr: IO[bytes] | None, prefix: str, table_done: OnTable) -> None:
        for line in stderr or ():
            text = line.decode(errors="replace").strip()
            self._last = [*self._last, text][-_LAST_LINES:]
            if prefix in text:
                table_done(text.rpartition(prefix)[2].strip(' "'))

    def end(self, program: subprocess.Popen[bytes]) -> None:
        """Wait for the program to end; ProgramFailedError with its last lines if it failed."""
        code = program.wait()
        self._thread.join()
        if code:
            raise ProgramFailedError(" ".join(self._last) or f"It ended with code {code}.")


# Databases beside the one in use: create them, connect to them, and swap them in.
#
# Administrative statements run in the server's `postgres` database, as the configured user.

# A session that has been idle for this long is not in the middle of a request.
_IDLE_SECONDS = 4 * CHECK_INTERVAL_SECONDS
_MAX_WAIT_SECONDS = 30.0
_POLL_SECONDS = 0.05
_BUSY = f"""
SELECT count(*) FROM pg_stat_activity
WHERE datname = %(name)s AND pid <> pg_backend_pid() AND backend_type = 'client backend'
  AND application_name <> '{LEASE_SESSION}'
  AND (state <> 'idle' OR state_change > clock_timestamp() - %(quiet)s * interval '1 second')
"""  # noqa: S608 - a constant
# The template contains pgvector, which not every role may add.
_FIND_TEMPLATE = "SELECT 1 FROM pg_database WHERE datname = %s AND datistemplate"
# A superuser's sessions are left alone. Autovacuum workers need no mention: Postgres stops them
# itself when a database is renamed, copied or dropped.
_END_SESSIONS = """
SELECT pg_terminate_backend(a.pid, 5000)
FROM pg_stat_activity a JOIN pg_roles r ON r.oid = a.usesysid AND NOT r.rolsuper
WHERE a.datname = ANY (%s)
"""


class CreateDatabaseDeniedError(Exception):
    """The database user may not create databases."""


def current_database() -> str:
    """Return the name of the database in use."""
    return str(connection.settings_dict["NAME"])


def create_database(name: str) -> None:
    """Create an empty database beside the one in use."""
    try:
        with _administrative_cursor() as cursor:
            prepared = cursor.execute(_FIND_TEMPLATE, [TEMPLATE]).fetchone()
            template = TEMPLATE if prepared else "template0"
            cursor.execute(_with_names("CREATE DATABASE {} TEMPLATE {}", name, template))
    except psycopg.errors.InsufficientPrivilege:
        raise CreateDatabaseDeniedError(
            "The database role may not create databases: set DATABASE_URL to an empty database, "
            "and restore into that."
        ) from None


def drop_database(name: str) -> None:
    """Drop a database, ending its sessions."""
    with _administrative_cursor() as cursor:
        if (
            cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
            is None
        ):
            return
        cursor.execute(_with_names("ALTER DATABASE {} WITH ALLOW_CONNECTIONS false", name))
        # Not WITH (FORCE): it also ends autovacuum's workers, which this role may not.
        cursor.execute(_END_SESSIONS, [[name]])
        cursor.execute(_with_names("DROP DATABASE {}", name))


def is_empty() -> bool:
    """Return True if the database in use has no tables."""
    return not connection.introspection.table_names()


@contextmanager
def connected_to(name: str) -> Iterator[None]:
    """Connect Django to another database for the duration of the block."""
    before = current_database()
    _reconnect(name)
    try:
        yield
    finally:
        _reconnect(before)


def swap_databases(name: str, *, kept_as: str) -> float:
    """Replace the database in use by `name`, and keep it as `kept_as`.

    Return for how many seconds requests had to wait.
    """
    in_use = current_database()
    connections.close_all()
    started = time.monotonic()
    with pause_requests() as waiting, _administrative_cursor() as cursor:
        if waiting:
            _wait_until_quiet(cursor, in_use)
        cursor.execute(_with_names("ALTER DATABASE {} WITH ALLOW_CONNECTIONS false", in_use))
        try:
            cursor.execute(_END_SESSIONS, [[in_use, name]])
            with cursor.connection.transaction():
                cursor.execute(_with_names("ALTER DATABASE {} RENAME TO {}", in_use, kept_as))
                cursor.execute(_with_names("ALTER DATABASE {} RENAME TO {}", name, in_use))
        except BaseException:
            cursor.execute(_with_names("ALTER DATABASE {} WITH ALLOW_CONNECTIONS true", in_use))
            raise
        cursor.execute(_with_names("ALTER DATABASE {} WITH ALLOW_CONNECTIONS true", kept_as))
    return time.monotonic() - started


def _wait_until_quiet(cursor: psycopg.Cursor, name: str) -> None:
    """Wait until requests that began before the pause have ended, up to a limit."""
    until = time.monotonic() + _MAX_WAIT_SECONDS
    while time.monotonic() < until:
        row = cursor.execute(_BUSY, {"name": name, "quiet": _IDLE_SECONDS}).fetchone()
        if row == (0,):
            return
        time.sleep(_POLL_SECONDS)


@contextmanager
def _administrative_cursor() -> Iterator[psycopg.Cursor]:
    parameters: dict[str, Any] = connection.get_connection_params() | {"dbname": "postgres"}
    parameters.pop("cursor_factory", None)
    with psycopg.connect(**parameters, autocommit=True) as administrator:
        yield administrator.cursor()


def _with_names(statement: str, *names: str) -> sql.Composed:
    return sql.SQL(statement).format(*map(sql.Identifier, names))


def _reconnect(name: str) -> None:
    connections.close_all()
    connection.settings_dict["NAME"] = name
