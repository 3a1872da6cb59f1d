"""Access to the embedded Postgres, and upgrades of an earlier Pegboard's data folder."""

import json
import os
import pwd
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
import pytest
from django.db import connection

from marketplace.operate.embedded._child_processes import (
    MINIMAL_ENVIRONMENT,
    server_account,
    start_child,
    stop_child,
    wait_until,
)
from marketplace.operate.embedded.data_folder import read_or_create_password
from marketplace.operate.embedded.postgres import _CLUSTER, EmbeddedPostgres, postgres_programs
from marketplace.operate.roles.names import APP, OWNER, TEMPLATE
from tests.databases import superuser_conninfo

Start = Callable[..., EmbeddedPostgres]
PROJECT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.processes
TRY = """
import json, sys, psycopg
def told(conninfo):
    try: psycopg.connect(conninfo, connect_timeout=5).close()
    except psycopg.OperationalError as problem: return str(problem)
    return ""
print(json.dumps([told(conninfo) for conninfo in sys.argv[1:]]))
"""


@pytest.mark.parametrize("role", ["postgres", APP, OWNER])
def test_nobody_gets_in_without_a_password(shared: EmbeddedPostgres, role: str) -> None:
    """A process of the same account without our environment, like a server's program."""
    databases = ("postgres", "template1", TEMPLATE, "pegboard")

    answers = _attempts(*(f"host={shared.run} user={role} dbname={each}" for each in databases))

    assert len(answers) == len(databases)
    for told in answers:
        assert "password" in told or "not permitted to log in" in told, answers


def test_another_account_does_not_come_to_the_socket(shared: EmbeddedPostgres) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another account")
    child = os.fork()
    if child == 0:  # pragma: no cover - it only tells by its code how it went
        os.setgroups([])
        os.setuid(pwd.getpwnam("daemon").pw_uid)
        try:
            socket.socket(socket.AF_UNIX).connect(str(shared.run / ".s.PGSQL.5432"))
        except PermissionError:
            os._exit(7)
        os._exit(0)

    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 7


def test_superuser_does_not_sign_in_after_the_set_up(shared: EmbeddedPostgres) -> None:
    with psycopg.connect(shared.owner_url("postgres")) as owner:
        found = owner.execute(
            "SELECT rolcanlogin FROM pg_roles WHERE rolname = 'postgres'"
        ).fetchone()
    assert found == (False,)
    assert shared._superuser_password == ""


def test_application_comes_to_its_own_database_alone(shared: EmbeddedPostgres) -> None:
    for database in ("postgres", "template1", TEMPLATE):
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            psycopg.connect(shared.url(database))


def test_passwords_are_in_files_of_their_owner_and_nowhere_else(shared: EmbeddedPostgres) -> None:
    data = shared.folder.parent
    passwords = [read_or_create_password(data, role) for role in (APP, OWNER)]

    assert shared.process is not None
    process = psutil.Process(shared.process.pid)
    told = f"{process.cmdline()} {process.environ()}" + "".join(
        log.read_text(errors="replace") for log in (data / "logs").iterdir()
    )
    assert not [password for password in passwords if password in told]
    assert len(set(passwords)) == 2
    for name in ("database_password", "database_owner_password"):
        assert (data / name).stat().st_mode & 0o777 == 0o600


def test_lost_passwords_are_made_anew(data: Path, start: Start) -> None:
    server = start()
    server.create_database()
    server.stop()
    (data / "database_password").unlink()
    (data / "database_owner_password").unlink()

    again = start()

    with psycopg.connect(again.owner_url()) as owner:
        assert owner.execute("SELECT current_user").fetchone() == (OWNER,)


@pytest.fixture
def earlier(data: Path, django_db_setup: None) -> Path:
    """A data folder from before roles: one superuser without a password."""
    programs, folder, run = postgres_programs(), data / "postgres", data / "run"
    account = server_account(programs, data)
    for place in (folder, run):
        account.own(place)
    trusting = [word.replace("--auth=reject", "--auth=trust") for word in _CLUSTER]
    initdb: list[str | Path] = [programs / "initdb", f"--pgdata={folder}", *trusting, "--no-sync"]
    assert (
        start_child(
            initdb, log=data / "initdb.log", account=account, environment=MINIMAL_ENVIRONMENT
        ).wait()
        == 0
    )
    command: list[str | Path] = [
        programs / "postgres",
        "-D",
        folder,
        "-k",
        run,
        "--listen_addresses=",
    ]
    log = data / "earlier.log"
    server = start_child(command, log=log, account=account, environment=MINIMAL_ENVIRONMENT)
    where = f"host={run} user=postgres dbname=postgres"
    try:
        wait_until(lambda: _attempt(where) == "", child=server, name="Postgres", log=log)
        with psycopg.connect(where, autocommit=True) as superuser:
            superuser.execute("CREATE DATABASE pegboard")
            superuser.execute("CREATE DATABASE pegboard_before_20260101")
        dump: list[str | Path] = [programs / "pg_dump", "--format=custom", "--exclude-schema=tests"]
        dump += [f"--dbname={superuser_conninfo(connection.settings_dict['NAME'])}"]
        restore: list[str | Path] = [
            programs / "pg_restore",
            "--no-owner",
            "--no-privileges",
            f"--host={run}",
        ]
        restore += ["--username=postgres", "--dbname=pegboard"]
        content = subprocess.run(dump, check=True, stdout=subprocess.PIPE).stdout  # noqa: S603
        subprocess.run(restore, check=True, input=content)  # noqa: S603
    finally:
        stop_child(server)
    return data


@pytest.mark.django_db  # without one, no database is made whose tables could be copied
def test_folder_of_an_earlier_pegboard_changes_hands(earlier: Path, start: Start) -> None:
    server = start()
    told = _attempt(f"host={server.run} user=postgres dbname=pegboard")
    migrated = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity=0"],
        cwd=PROJECT,
        env=os.environ | {"DATABASE_URL": server.url(), "DATABASE_OWNER_URL": server.owner_url()},
        check=False,
        capture_output=True,
        text=True,
    )

    assert "password" in told
    assert migrated.returncode == 0, migrated.stderr
    with psycopg.connect(server.url()) as app:
        app.execute(
            "INSERT INTO acl_auditentry (at, by_name, action, target, details, request_id,"
            " key_prefix, address) VALUES (now(), '', 'test.change', 'one', '{}', '', '', '')"
        )
        app.commit()
        assert app.execute("SELECT number FROM acl_audithead").fetchone() == (1,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute("UPDATE acl_auditentry SET target = 'other'")
    with psycopg.connect(server.owner_url()) as owner:
        owners = owner.execute(
            "SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class"
            " WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S')"
        ).fetchall()
        databases = owner.execute(
            "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE starts_with(datname, 'pegboard')"
            " AND NOT datistemplate"
        ).fetchall()
    assert sorted(owners) == [("pegboard_audit",), (OWNER,)]
    assert databases == [(OWNER,)] * 2


def _attempt(conninfo: str) -> str:
    """Connect from another process; return its error, or "" if it gets in."""
    (told,) = _attempts(conninfo)
    return told


def _attempts(*conninfos: str) -> list[str]:
    """Connect to each, all from one other process; return the errors."""
    answer = subprocess.run(  # noqa: S603 - ourselves
        [sys.executable, "-c", TRY, *conninfos],
        env=MINIMAL_ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    told: list[str] = json.loads(answer.stdout)
    return told
