"""The embedded Redis, with real processes."""

import psutil
import pytest
import redis
from kombu.connection import Connection

from marketplace.embedded.redis import EmbeddedRedis

pytestmark = pytest.mark.processes


def test_it_listens_on_no_port(queue: EmbeddedRedis) -> None:
    assert queue.process is not None
    assert psutil.Process(queue.process.pid).net_connections(kind="inet") == []


def test_celery_and_cache_reach_the_same_server(queue: EmbeddedRedis) -> None:
    with Connection(queue.celery_url) as connection:  # type: ignore[no-untyped-call]
        connection.SimpleQueue("letters").put("hello")

    with redis.Redis.from_url(queue.url) as client:
        assert client.llen("letters") == 1


def test_queue_survives_kill_9(queue: EmbeddedRedis) -> None:
    with redis.Redis.from_url(queue.url) as client:
        client.config_set("appendfsync", "always")
        client.rpush("letters", "hello")
    assert queue.process is not None
    queue.process.kill()
    queue.process.wait()

    queue.start()

    with redis.Redis.from_url(queue.url) as client:
        assert client.lrange("letters", 0, -1) == [b"hello"]


def test_nothing_is_evicted_from_the_queue(queue: EmbeddedRedis) -> None:
    with redis.Redis.from_url(queue.url) as client:
        policy = client.config_get("maxmemory-policy")

    assert policy == {"maxmemory-policy": "noeviction"}
