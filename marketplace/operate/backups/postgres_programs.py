"""Postgres's own pg_dump and pg_restore, of the package that brings the embedded server.

They talk to the server that the settings name. The password is in their environment, which only
their own account can read, and not among their arguments.
"""

import os
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import IO

from django.db import connection

from marketplace.operate.embedded.embedded_postgres import postgres_programs

Told = Callable[[str], None]
# Those of libpq's variables that a DATABASE_URL may set.
_PARAMETERS = {
    "HOST": "PGHOST", "PORT": "PGPORT", "USER": "PGUSER", "PASSWORD": "PGPASSWORD",
    "sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
}  # fmt: skip
# Whoever restores owns what is restored; comments of extensions belong to administrators.
_PLAIN = ("--no-owner", "--no-privileges", "--verbose")
_AT_ONCE = 1024 * 1024
_LAST_LINES = 5


class ProgramFailedError(Exception):
    """What a program of Postgres's said last."""


def dump(*, snapshot: str, table_done: Told) -> Iterator[bytes]:
    """The database as the snapshot has it, in pg_dump's custom format."""
    command = ["--format=custom", f"--snapshot={snapshot}", *_PLAIN]
    with _started("pg_dump", command, stdin=None) as program:
        listener = _Listener(program.stderr, "dumping contents of table", table_done)
        if program.stdout is not None:
            while chunk := program.stdout.read(_AT_ONCE):
                yield chunk
        listener.end(program)


def restore(chunks: Iterable[bytes], *, database: str, table_done: Told) -> None:
    """Put a dump into an empty database: all of it, or nothing."""
    command = [f"--dbname={database}", "--no-comments", "--single-transaction", *_PLAIN]
    with _started("pg_restore", command, stdin=subprocess.PIPE) as program:
        listener = _Listener(program.stderr, "processing data for table", table_done)
        if program.stdin is not None:
            with suppress(BrokenPipeError):  # it has said why
                for chunk in chunks:
                    program.stdin.write(chunk)
                program.stdin.close()
        listener.end(program)


def _started(name: str, arguments: list[str], *, stdin: int | None) -> subprocess.Popen[bytes]:
    values = connection.settings_dict
    values = values | values.get("OPTIONS", {})
    ours = {name: value for name, value in os.environ.items() if name.startswith("PG")}
    ours |= {name: str(values[key]) for key, name in _PARAMETERS.items() if values.get(key)}
    return subprocess.Popen(  # noqa: S603 - Postgres's own
        [postgres_programs() / name, *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE if stdin is None else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=ours | {"PATH": os.defpath, "LC_ALL": "C", "PGDATABASE": str(values["NAME"])},
    )


class _Listener:
    """Reads what a program says beside its work: which table it is at, and its last words."""

    def __init__(self, words: IO[bytes] | None, telling: str, table_done: Told) -> None:
        self._last: list[str] = []
        self._thread = threading.Thread(target=self._listen, args=(words, telling, table_done))
        self._thread.start()

    def _listen(self, words: IO[bytes] | None, telling: str, table_done: Told) -> None:
        for line in words or ():
            text = line.decode(errors="replace").strip()
            self._last = [*self._last, text][-_LAST_LINES:]
            if telling in text:
                table_done(text.rpartition(telling)[2].strip(' "'))

    def end(self, program: subprocess.Popen[bytes]) -> None:
        """Wait for the end of the program; its last words where it failed."""
        code = program.wait()
        self._thread.join()
        if code:
            raise ProgramFailedError(" ".join(self._last) or f"It ended with code {code}.")
