"""REL-14: the database's disk is full.

Writes are refused with an explanation, reading goes on, and freeing space is enough to recover.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import Group, User
from django.core.cache import cache
from django.db import connection, connections
from django.test import Client
from psycopg import sql
from pytest_django.plugin import DjangoDbBlocker

from acl.keys.lifecycle import create_key
from acl.models import ApiKey, AuditEntry
from acl.platform.database_work import KEY, SECONDS_TO_RETRY
from discovery.models import Turn
from marketplace.operate.backups import databases
from tests.databases import superuser_conninfo
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, UserFactory, give
from tests.sessions import session_of

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]
SIZE = "96m"
# An allocated page of a table still has room for dozens of rows.
MOST_WRITES = 400


class Disk:
    """A small file system below Postgres; `fill` leaves not one block."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        with self._ballast.open("ab", buffering=0) as file:
            for size in (1 << 20, 4096):
                try:
                    while file.write(b"x" * size):
                        pass
                except OSError:
                    continue

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)


@pytest.fixture
def disk() -> Iterator[Disk]:
    """A tmpfs; skipped if this account may not mount one."""
    # Postgres may run as another account, which has no access to pytest's own folder.
    folder = Path(tempfile.mkdtemp(prefix="pegboard-small-disk-"))
    mount = shutil.which("mount") or "mount"
    command = [mount, "-t", "tmpfs", "-o", f"size={SIZE},mode=0755", "pegboard-tests", str(folder)]
    mounted = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    if mounted.returncode != 0:
        folder.rmdir()
        pytest.skip("needs to mount a small tmpfs, and this account may not")
    folder.chmod(0o755)
    yield Disk(folder)
    subprocess.run([shutil.which("umount") or "umount", folder], check=True)  # noqa: S603
    folder.rmdir()


@pytest.fixture
def on_small_disk(
    disk: Disk, transactional_db: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[Disk]:
    """The tests' database, copied onto that disk; Django uses the copy."""
    with psycopg.connect(superuser_conninfo("postgres"), autocommit=True) as superuser:
        postgres = Path(str(superuser.execute("SHOW data_directory").fetchone()[0]))  # type: ignore[index]
        if not postgres.is_dir():
            pytest.skip("needs a Postgres on this machine")
        place = disk.folder / "tablespace"
        place.mkdir(mode=0o700)
        os.chown(place, postgres.stat().st_uid, postgres.stat().st_gid)
        template, name = databases.current_database(), f"small_{os.getpid()}"
        names = {"name": sql.Identifier(name), "place": sql.Literal(str(place))}
        owner = superuser.execute(_OWNER, [template]).fetchone()
        names |= {"template": sql.Identifier(template), "owner": sql.Identifier(str(owner[0]))}  # type: ignore[index]
        with django_db_blocker.unblock():
            connections.close_all()
            superuser.execute(sql.SQL("CREATE TABLESPACE {name} LOCATION {place}").format(**names))
            try:
                superuser.execute(databases._END_SESSIONS, [[template]])
                superuser.execute(sql.SQL(_COPY).format(**names))
                give_back_free_rows(name)
                with databases.connected_to(name):
                    yield disk
            finally:
                disk.free()
                connections.close_all()
                drop = "DROP DATABASE IF EXISTS {name} WITH (FORCE)"
                superuser.execute(sql.SQL(drop).format(**names))
                superuser.execute(sql.SQL("DROP TABLESPACE {name}").format(**names))


def give_back_free_rows(database: str) -> None:
    """Shrink the tables that are written to: rows that earlier tests deleted left room there."""
    with psycopg.connect(superuser_conninfo(database), autocommit=True) as superuser:
        superuser.execute("VACUUM FULL discovery_turn, acl_apikey, acl_auditentry")


_OWNER = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = %s"
_COPY = "CREATE DATABASE {name} TEMPLATE {template} OWNER {owner} TABLESPACE {name}"


@pytest.fixture
def group() -> Group:
    """alice's group, which may use one tool."""
    group = GroupFactory.create(name="support")
    UserFactory.create(username="alice", groups=[group])
    mail = IntegrationFactory.create(slug="mail")
    CapabilityFactory.create(integration=mail, action="send", description="Sends an email.")
    give(mail, group)
    return group


def test_full_disk_refuses_writes_whole_and_nothing_else(on_small_disk: Disk, group: Group) -> None:
    root = User.objects.create_superuser("root")
    root.groups.add(group)
    program, other = client_of(group, "select", root), client_of(group, "admin", root)
    admin, alice = Client(), Client()
    admin.force_login(root)
    alice.force_login(User.objects.get(username="alice"))
    numbers = count()

    def make_key() -> Any:
        body = {"name": f"key {next(numbers)}", "group": "support", "owner": "root"}
        sent = {**body, "scopes": ["admin"]}
        return other.post("/api/v1/keys", sent, content_type="application/json")

    def make_key_on_page() -> Any:
        wanted = {"name": f"key {next(numbers)}", "groups": [group.pk], "scopes": ["select"]}
        return admin.post("/keys/new/", {**wanted, "whom": "users", "lifetime": "90"})

    def select() -> Any:
        body = {"user": "alice", "message": "send an email"}
        return program.post("/api/v1/select", body, content_type="application/json")

    assert select().json()["turn_id"]
    on_small_disk.fill()

    refused, refused_page = until_refused(make_key), until_refused(make_key_on_page)
    assert refused["Content-Type"] == "application/problem+json"
    assert refused.json()["type"] == "urn:pegboard:problem:no-room"
    for answer in (refused, refused_page):
        assert answer["Retry-After"] == str(SECONDS_TO_RETRY)
        assert "nothing was saved" in answer.content.decode()
    made = AuditEntry.objects.filter(action="key.created").count()
    assert made == ApiKey.objects.count()  # each with its audit entry, and none without

    answers = [select() for _ in range(MOST_WRITES // 4)]
    assert {answer.status_code for answer in answers} == {200}
    last = answers[-1].json()
    assert last["selected"][0]["full_name"] == "mail__send"
    assert (last["turn_id"], "not stored" in str(last["degraded_because"])) == (None, True)
    for path in ("/tools/", "/marketplace/", "/?message=send+an+email"):
        assert alice.get(path).status_code == 200, path
    ready = other.get("/readyz")
    assert ready.status_code == 200
    assert "free disk space to write" in ready.json()["parts"]["disk"]["problem"]

    on_small_disk.free()

    assert make_key().status_code == 201
    assert make_key_on_page().status_code == 200
    assert Turn.objects.filter(pk=select().json()["turn_id"]).exists()
    cache.delete(KEY)  # a minute later
    assert other.get("/readyz").json()["parts"]["disk"]["ok"]


def test_held_writes_are_refused_as_those_of_a_full_disk(group: Group) -> None:
    """The supervisor holds writes before the disk is full: the database only reads then."""
    root = User.objects.create_superuser("root")
    root.groups.add(group)
    program, other = client_of(group, "select", root), client_of(group, "admin", root)
    admin = session_of(root)
    key = {"name": "one more", "group": "support", "owner": "root", "scopes": ["admin"]}
    form = {"name": "another", "groups": [group.pk], "scopes": ["select"]}
    message = {"user": "alice", "message": "send an email"}

    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
        try:
            refused = other.post("/api/v1/keys", key, content_type="application/json")
            page = admin.post("/keys/new/", {**form, "whom": "users", "lifetime": "90"})
            chosen = program.post("/api/v1/select", message, content_type="application/json")
            looked = admin.get("/tools/")
        finally:
            cursor.execute("SET default_transaction_read_only = off")

    assert refused.json()["type"] == "urn:pegboard:problem:no-room"
    assert (refused.status_code, page.status_code, looked.status_code) == (503, 503, 200)
    assert page["Retry-After"] == str(SECONDS_TO_RETRY)
    assert (chosen.status_code, chosen.json()["turn_id"]) == (200, None)
    assert chosen.json()["selected"][0]["full_name"] == "mail__send"
    cache.delete(KEY)
    assert other.post("/api/v1/keys", key, content_type="application/json").status_code == 201


def client_of(group: Group, scope: str, owner: User) -> Client:
    """Return a client with a key of that scope."""
    acting = scope == "select"
    raw = create_key(
        by=None,
        name=scope,
        group=group,
        owner=None if acting else owner,
        scopes=[scope],
        acts_for_users=acting,
    )[1]
    return Client(headers={"Authorization": f"Bearer {raw}"})


def until_refused(write: Callable[[], Any]) -> Any:
    """Write until the allocated pages are full."""
    for _ in range(MOST_WRITES):
        answer = write()
        assert answer.status_code in {200, 201, 503}, answer.content
        if answer.status_code == 503:
            assert connection.connection is None or not connection.connection.closed
            return answer
    raise AssertionError(f"{MOST_WRITES} writes had room on a full disk")
