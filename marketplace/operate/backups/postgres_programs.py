"""Run pg_dump and pg_restore, from the package of the embedded server.

They connect to the configured server. The password is passed in their environment, which only their
own account can read, not in their arguments.
"""

import os
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import IO

from django.db import connection

from marketplace.operate.embedded.postgres import postgres_programs

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
