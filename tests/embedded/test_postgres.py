"""The embedded Postgres and Redis with real processes: prepared, guarded and stopped."""

import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import psutil
import psycopg
import pytest
import redis
from django.core.management import CommandError, call_command
from kombu.connection import Connection
from psycopg.errors import ReadOnlySqlTransaction
from pytest_django import DjangoDbBlocker, Settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from marketplace.operate.embedded import disk_guard
from marketplace.operate.embedded.data_folder import CannotRun, read_or_create_redis_password
from marketplace.operate.embedded.disk_guard import RESERVE, DiskGuard
from marketplace.operate.embedded.postgres import EmbeddedPostgres, postgres_programs
from marketplace.operate.embedded.redis import EmbeddedRedis
from tests.catalog.processes import broker_url
from tests.databases import connected_to_server

pytestmark = pytest.mark.processes

Start = Callable[..., EmbeddedPostgres]


def test_its_database_has_vectors(start: Start) -> None:
    server = start()

    server.create_database("shelf")
    server.create_database("shelf")

    with psycopg.connect(server.owner_url("shelf")) as connection:
        row = connection.execute("SELECT '[1,2]'::vector <-> '[1,3]'::vector").fetchone()
    assert row == (1.0,)


def test_only_its_account_can_reach_it(start: Start) -> None:
    server = start()

    assert server.process is not None
    assert psutil.Process(server.process.pid).net_connections(kind="inet") == []
    assert stat.S_IMODE(server.run.stat().st_mode) == 0o700
    assert stat.S_IMODE(server.folder.stat().st_mode) == 0o700


def test_nothing_of_our_environment_is_in_its_own(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEGBOARD_EMBEDDING_KEY", "sk-private")

    server = start()

    assert server.process is not None
    assert "sk-private" not in str(psutil.Process(server.process.pid).environ())


def test_committed_rows_survive_kill_9(start: Start) -> None:
    server = start(durable=True)
    server.create_database()
    with psycopg.connect(server.owner_url()) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    _kill(server)

    again = start(durable=True)

    with psycopg.connect(again.owner_url()) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)


def test_number_of_a_dead_server_may_be_anyones_now(start: Start) -> None:
    server = start()
    _kill(server)
    stale = server.folder / "postmaster.pid"
    lines = stale.read_text().splitlines()
    stale.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")

    again = start()

    assert again.is_ready()


def test_interrupted_first_start_is_begun_anew(data: Path, start: Start) -> None:
    (data / "postgres.new").mkdir()
    (data / "postgres.new" / "PG_VERSION").write_text("18\n")

    server = start()

    assert server.is_ready()


def test_data_of_another_postgres_is_refused(data: Path, start: Start) -> None:
    (data / "postgres").mkdir()
    (data / "postgres" / "PG_VERSION").write_text("16\n")

    with pytest.raises(
        CannotRun, match=r"belongs to Postgres 16, but this Pegboard includes Postgres 18"
    ):
        start()


def test_failed_start_tells_what_the_server_said(start: Start) -> None:
    server = start()
    server.stop()
    (server.folder / "postgresql.conf").write_text("shared_buffers = plenty\n")

    with pytest.raises(CannotRun, match=r"Postgres failed to start \(.*"):
        start()


def _kill(server: EmbeddedPostgres) -> None:
    assert server.process is not None
    server.process.kill()
    server.process.wait()


class Guarded:
    """A guard whose disk has as much room as the test says."""

    def __init__(self, server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
        self.output: list[str] = []
        self.releases = 0
        self.reserve = server.folder.with_name("disk_reserve")
        self._monkeypatch = monkeypatch
        self._guard = DiskGuard(server, say=self.output.append, released=self._count)

    def look(self, *, full: bool) -> None:
        free = shutil.disk_usage(self.reserve.parent).free
        self._monkeypatch.setattr(disk_guard, "HOLD_BELOW", free * 2 if full else 0)
        self._monkeypatch.setattr(disk_guard, "RELEASE_ABOVE", free * 2 if full else 0)
        self._guard.look()

    def _count(self) -> None:
        self.releases += 1


@pytest.fixture
def guarded(shared: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guarded]:
    guarded = Guarded(shared, monkeypatch)
    yield guarded
    guarded.look(full=False)


def is_held(server: EmbeddedPostgres) -> bool:
    """Return what a session sees once the server has read its file again."""
    with psycopg.connect(server.url(), autocommit=True) as session:
        row = session.execute("SHOW default_transaction_read_only").fetchone()
    return row == ("on",)


def wait_until_held(server: EmbeddedPostgres, held: bool) -> None:
    for _ in range(1000):
        if is_held(server) == held:
            return
    raise AssertionError(f"writes are still {'allowed' if held else 'held'}")


def test_full_disk_holds_writes_and_room_releases_them(
    shared: EmbeddedPostgres, guarded: Guarded
) -> None:
    with psycopg.connect(shared.owner_url(), autocommit=True) as owner:
        owner.execute("CREATE TABLE IF NOT EXISTS note (text text)")
        assert guarded.reserve.stat().st_size == RESERVE

        guarded.look(full=True)
        wait_until_held(shared, True)

        with pytest.raises(ReadOnlySqlTransaction):
            owner.execute("INSERT INTO note VALUES ('x')")
        assert owner.execute("SELECT count(*) FROM note").fetchone() is not None
        assert not guarded.reserve.exists()

        guarded.look(full=False)
        wait_until_held(shared, False)

        owner.execute("INSERT INTO note VALUES ('x')")
    assert guarded.reserve.stat().st_size == RESERVE
    assert len(guarded.output) == 2
    assert guarded.releases == 1


def test_it_is_said_once_however_often_it_is_looked(
    shared: EmbeddedPostgres, guarded: Guarded
) -> None:
    for _ in range(3):
        guarded.look(full=True)

    wait_until_held(shared, True)
    assert len(guarded.output) == 1
    assert guarded.releases == 0


@pytest.fixture
def server(data: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(data, durable=False, keep_superuser=True)
    server.start()
    with django_db_blocker.unblock():
        yield server
    server.stop()


def addresses(server: EmbeddedPostgres) -> dict[str, str]:
    """Addresses of an operator with custom names of roles and database."""
    place = server.url("shelf").partition("@")[2]
    return {
        "DATABASE_URL": f"postgresql://shop:sesame@{place}",
        "DATABASE_OWNER_URL": f"postgresql://shop_keeper:open@{place}",
        "DATABASE_SUPERUSER_URL": server.superuser_url("postgres"),
    }


def prepare(settings: Settings, server: EmbeddedPostgres, *words: str) -> str:
    """Run the command in this process, as migrations: a new one takes seconds, for no more."""
    for name, address in addresses(server).items():
        setattr(settings, name, address)
    told = StringIO()
    call_command("prepare_database", *words, stdout=told)
    return told.getvalue()


def migrate(server: EmbeddedPostgres, app: str) -> None:
    given = addresses(server)
    with connected_to_server(given["DATABASE_URL"], given["DATABASE_OWNER_URL"]):
        call_command("migrate", app, interactive=False, verbosity=0)


def check_roles(server: EmbeddedPostgres) -> None:
    """Migrate the app that makes the third role's tables, and check who may do what with them.

    All apps together take a quarter of a minute, and `test_up.py` migrates them.
    """
    given = addresses(server)
    migrate(server, "acl")
    with psycopg.connect(given["DATABASE_URL"], autocommit=True) as app:
        app.execute("INSERT INTO auth_group (name) VALUES ('made')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute("CREATE TABLE own (id bigint)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute("UPDATE acl_audithead SET number = 0")
    with psycopg.connect(given["DATABASE_OWNER_URL"]) as owner:
        found = owner.execute(
            "SELECT pg_get_userbyid(relowner) FROM pg_class WHERE relname = 'acl_auditentry'"
        ).fetchone()
        vector = owner.execute("SELECT '[3, 4]'::vector <-> '[0, 0]'").fetchone()
    assert found == ("pegboard_audit",)
    assert vector == (5.0,)  # the extension is the superuser's to create


def test_roles_and_database_are_made_and_making_them_again_changes_nothing(
    server: EmbeddedPostgres, settings: Settings
) -> None:
    first = prepare(settings, server)
    second = prepare(settings, server)

    assert first == second
    assert "shop_keeper owns the database shelf, and shop works with it." in first
    check_roles(server)


def test_what_is_printed_does_the_same_in_psql(
    server: EmbeddedPostgres, settings: Settings
) -> None:
    script = prepare(settings, server, "--print")

    assert "sesame" not in script
    program = postgres_programs() / "psql"
    if not program.exists():
        pytest.skip("psql is not part of the package")
    passwords = "ALTER ROLE shop PASSWORD 'sesame'; ALTER ROLE shop_keeper PASSWORD 'open';"
    text = script[: script.index("\\password")] + passwords
    for _ in range(2):
        subprocess.run(  # noqa: S603 - Postgres's own
            [program, "-v", "ON_ERROR_STOP=1", "-q", server.superuser_url("postgres")],
            input=text,
            text=True,
            check=True,
            env={"PATH": os.defpath},
        )
    check_roles(server)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"DATABASE_SUPERUSER_URL": ""}, "DATABASE_SUPERUSER_URL is not set"),
        ({"DATABASE_OWNER_URL": ""}, "DATABASE_OWNER_URL is not set"),
        ({"DATABASE_OWNER_URL": "postgresql://shop:x@db/shelf"}, "need two roles"),
        ({"DATABASE_OWNER_URL": "postgresql://keeper:x@db/other"}, "one database"),
        ({"DATABASE_OWNER_URL": "postgresql://keeper@db/shelf"}, "need passwords"),
    ],
)
def test_what_is_missing_is_said(
    settings: Settings, data: Path, given: dict[str, str], told: str
) -> None:
    for name, address in (addresses(EmbeddedPostgres(data)) | given).items():
        setattr(settings, name, address)

    with pytest.raises(CommandError, match=told):
        call_command("prepare_database")


def test_it_listens_on_no_port(queue: EmbeddedRedis) -> None:
    assert queue.process is not None
    assert psutil.Process(queue.process.pid).net_connections(kind="inet") == []


def test_celery_and_cache_reach_the_same_server(queue: EmbeddedRedis) -> None:
    with Connection(broker_url(queue)) as connection:  # type: ignore[no-untyped-call]
        connection.SimpleQueue("letters").put("hello")

    with redis.Redis.from_url(queue.url) as client:
        assert client.llen("letters") == 1


def test_scripts_of_celery_are_asked_for(queue: EmbeddedRedis) -> None:
    with redis.Redis.from_url(queue.url) as client:
        digest = client.script_load("return 1")

        assert client.script_exists(digest) == [True]


def test_queue_survives_kill_9(queue: EmbeddedRedis) -> None:
    with redis.Redis.from_url(queue.url) as client:
        client.rpush("letters", "hello")
        client.execute_command("WAITAOF", 1, 0, 30_000)  # wait until it is on disk
    assert queue.process is not None
    queue.process.kill()
    queue.process.wait()

    queue.start()

    with redis.Redis.from_url(queue.url) as client:
        assert client.lrange("letters", 0, -1) == [b"hello"]


def test_nothing_is_evicted_from_the_queue(queue: EmbeddedRedis) -> None:
    with redis.Redis.from_url(queue.url) as client:
        policy = client.info("memory")["maxmemory_policy"]

    assert policy == "noeviction"


def test_nobody_gets_in_without_the_password(queue: EmbeddedRedis) -> None:
    for password in (None, "guessed"):
        once = Retry(NoBackoff(), 0)
        client = redis.Redis(unix_socket_path=str(queue.socket), password=password, retry=once)

        with client, pytest.raises(redis.AuthenticationError):
            client.ping()


def test_password_is_nowhere_for_others_to_read(queue: EmbeddedRedis) -> None:
    password = read_or_create_redis_password(queue.folder.parent)
    assert queue.process is not None
    server = psutil.Process(queue.process.pid)

    assert password not in f"{server.cmdline()} {server.environ()}"
    assert password not in (queue.folder / "users.acl").read_text()
    assert (queue.folder.parent / "redis_password").stat().st_mode & 0o777 == 0o600


HARMFUL = (
    "CONFIG GET dir", "CONFIG SET dir /tmp", "MODULE LIST", "ACL LIST",
    "ACL SETUSER default nopass", "FLUSHALL", "FLUSHDB", "KEYS *", "SHUTDOWN NOSAVE", "MONITOR",
    "REPLICAOF localhost 1", "SAVE", "BGSAVE", "BGREWRITEAOF", "CLIENT LIST",
    "CLIENT KILL TYPE normal", "SLOWLOG GET", "LATENCY LATEST", "SCRIPT FLUSH", "SCRIPT KILL",
    "FUNCTION LIST", "MIGRATE h 1 k 0 1", "SWAPDB 0 1", "FAILOVER",
)  # fmt: skip


def test_what_could_harm_the_server_is_refused(queue: EmbeddedRedis) -> None:
    with redis.Redis.from_url(queue.url) as client:
        answers = {command: _answer(client, command) for command in HARMFUL}

    assert {
        command: told for command, told in answers.items() if "no permissions" not in told
    } == {}


def _answer(client: redis.Redis, command: str) -> str:
    try:
        return str(client.execute_command(*command.split()))  # type: ignore[no-untyped-call]
    except redis.ResponseError as problem:
        return str(problem)
