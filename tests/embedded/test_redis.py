"""The embedded Redis, with real processes."""

import psutil
import pytest
import redis
from kombu.connection import Connection
from redis.backoff import NoBackoff
from redis.retry import Retry

from marketplace.operate.embedded.data_folder import read_or_create_redis_password
from marketplace.operate.embedded.redis import EmbeddedRedis
from tests.catalog.processes import broker_url

pytestmark = pytest.mark.processes


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
