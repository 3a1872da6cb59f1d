"""A primary and a streaming replica of it, apart from the Postgres of all tests.

That one writes too little to its log to be replicated, which makes the tests quicker.
"""

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dj_database_url
import psycopg
import pytest
from django.db import connection

from marketplace.operate.embedded import postgres
from marketplace.operate.embedded._child_processes import stop_child
from marketplace.operate.embedded.data_folder import open_data_folder
from marketplace.operate.embedded.postgres import EmbeddedPostgres, postgres_programs
from marketplace.operate.roles.names import APP, OWNER
from tests.databases import MIGRATED, superuser_conninfo
from tests.migrated_schema import load_schema, save_schema, saved_schema

_STREAMED = {
    "wal_level": "replica",
    "max_wal_senders": "3",
    "synchronous_commit": "on",  # or the log is sent up to half a second later
    "wal_retrieve_retry_interval": "50ms",
}


class _Server(EmbeddedPostgres):
    """A Postgres of the pair."""

    def __init__(self, data: Path) -> None:
        super().__init__(data, durable=False, keep_superuser=True)
        self._settings = self._settings | _STREAMED

    def copy_to(self, other: "_Server") -> None:
        """Make the other a replica of this one, which runs."""
        for role in (APP, OWNER):
            shutil.copy(self._data / f"database{_SUFFIXES[role]}_password", other._data)
        other._superuser_password = self._superuser_password
        command = [str(postgres_programs() / "pg_basebackup"), "--pgdata", str(other.folder)]
        quick = ["--no-sync", "--no-manifest", "--checkpoint=fast"]
        replica = ["--wal-method=stream", "--write-recovery-conf"]
        address = ["--dbname", self.superuser_url("postgres")]
        subprocess.run([*command, *quick, *replica, *address], check=True, timeout=300)  # noqa: S603


_SUFFIXES = {APP: "", OWNER: "_owner"}


class Streaming:
    """The two servers, with the tables of the migrated database."""

    def __init__(self, primary: _Server, replica: _Server) -> None:
        self.primary, self.replica = primary, replica

    def ask_replica(self, statement: str) -> Any:
        """Return the first value of a statement that a superuser asks the replica."""
        url = self.replica.superuser_url()
        with psycopg.connect(url, autocommit=True) as superuser:
            row = superuser.execute(statement.encode()).fetchone()
        return row and row[0]

    def catch_up(self) -> None:
        """Wait until the replica shows everything that is committed now."""
        with psycopg.connect(self.primary.superuser_url()) as superuser:
            row = superuser.execute("SELECT pg_current_wal_flush_lsn()").fetchone()
        assert row is not None
        wait_until(lambda: self.ask_replica(f"SELECT pg_last_wal_replay_lsn() >= '{row[0]}'"))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the replay: the replica answers, and shows nothing new."""
        self.ask_replica("SELECT pg_wal_replay_pause()")
        wait_until(lambda: self.ask_replica("SELECT pg_get_wal_replay_pause_state()") == "paused")
        try:
            yield
        finally:
            self.ask_replica("SELECT pg_wal_replay_resume()")

    @contextmanager
    def killed(self) -> Iterator[None]:
        """End the replica as a crash does, and start it again."""
        assert self.replica.process is not None
        stop_child(self.replica.process, by=signal.SIGQUIT, seconds=30)
        try:
            yield
        finally:
            self.replica.start()


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for a minute at most."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def streaming() -> Iterator[Streaming]:
    """Start both servers."""
    with tempfile.TemporaryDirectory(prefix="pegboard-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o711)
        primary, replica = (_Server(_data_folder(Path(folder, name))) for name in ("one", "two"))
        with pytest.MonkeyPatch.context() as patch:
            hba = f"{postgres._PG_HBA}local replication all scram-sha-256\n"
            patch.setattr(postgres, "_PG_HBA", hba)
            try:
                primary.start()
                primary.create_database()
                load_schema(primary.superuser_url(), _schema(Path(folder)))
                primary.copy_to(replica)
                replica.start()
                yield Streaming(primary, replica)
            finally:
                replica.stop()
                primary.stop()


def _data_folder(path: Path) -> Path:
    open_data_folder(path)
    return path


def _schema(folder: Path) -> Path:
    saved = saved_schema()
    if saved.exists():
        return saved
    dumped = folder / "schema.sql"
    save_schema(superuser_conninfo(MIGRATED), dumped)
    return dumped


@contextmanager
def django_on(server: EmbeddedPostgres) -> Iterator[None]:
    """Lead this thread's connection of Django to another server."""
    settings: dict[str, Any] = connection.settings_dict
    own = {name: settings[name] for name in ADDRESS}
    connection.close()
    settings.update(address_of(server))
    try:
        yield
    finally:
        connection.close()
        settings.update(own)


ADDRESS = ("HOST", "PORT", "USER", "PASSWORD", "NAME")


def address_of(server: EmbeddedPostgres) -> Mapping[str, Any]:
    """Return the settings of Django that say where a server is."""
    parsed: Mapping[str, Any] = dj_database_url.parse(server.url())
    return {name: parsed.get(name, "") for name in ADDRESS}
