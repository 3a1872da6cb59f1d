"""The channel between a client's stream of changes and the worker watching a server for it.

Redis has, by session: the watched resources, the changes that wait, a sign of the client that
listens, and one of the worker that watches. All of it may be lost: the stream ends then, and the
client listens again.
"""

import json
from typing import Any

from redis import Redis

from acl.platform.redis_circuit import attempt
from acl.platform.strict_json import write_json
from catalog.formats.descriptors import JSONObject
from discovery.calls.channel import blocking_client

# Of one session.
MOST_RESOURCES, MOST_CHANGES = 50, 100
# A client that has listened may take so long to listen again before it misses anything.
LISTENING_SECONDS = 60
WATCHING_SECONDS = 30
_KEPT_SECONDS = 3600


def keep_listening(session: str) -> None:
    """Sign that the client listens, or is about to."""

    def keep(redis: Redis) -> None:
        pipeline = redis.pipeline(transaction=False)
        pipeline.set(_key(session, "listens"), b"1", ex=LISTENING_SECONDS)
        pipeline.expire(_key(session, "resources"), _KEPT_SECONDS)
        pipeline.execute()

    attempt(keep, default=None)


def is_listening(session: str) -> bool:
    """Return True if the client has listened a moment ago, or nobody knows."""
    return bool(attempt(lambda redis: redis.exists(_key(session, "listens")), default=1))


def stop_listening(session: str) -> None:
    """Forget the session: nobody hears of its changes any more."""
    names = ("listens", "resources", "changes")
    attempt(lambda redis: redis.delete(*(_key(session, name) for name in names)), default=0)


def add_resources(session: str, *uris: str) -> None:
    """Keep that the session watches these."""
    if uris:
        attempt(lambda redis: redis.sadd(_key(session, "resources"), *uris), default=0)
        keep_listening(session)


def remove_resources(session: str, *uris: str) -> None:
    """Keep that the session does not watch these any more."""
    if uris:
        attempt(lambda redis: redis.srem(_key(session, "resources"), *uris), default=0)


def watched_resources(session: str) -> frozenset[str]:
    """Return the resources that the session watches."""
    empty: Any = set()
    members = attempt(lambda redis: redis.smembers(_key(session, "resources")), default=empty)
    return frozenset(uri.decode() for uri in members)


def claim(session: str, worker: str) -> None:
    """Sign that this worker watches."""
    name = _key(session, "watcher")
    attempt(lambda redis: redis.set(name, worker, ex=WATCHING_SECONDS), default=None)


def watcher_of(session: str) -> str:
    """Return the worker that watches; "" if none does."""
    watcher = attempt(lambda redis: redis.get(_key(session, "watcher")), default=None)
    return watcher.decode() if isinstance(watcher, bytes) else ""


def give_up(session: str) -> None:
    """Sign that no worker watches, which ends the stream."""
    attempt(lambda redis: redis.delete(_key(session, "watcher")), default=0)


def push_change(session: str, message: JSONObject) -> None:
    """Pass a change on. One that waits already is not passed on twice."""
    name, text = _key(session, "changes"), write_json(message)

    def push(redis: Redis) -> None:
        pipeline = redis.pipeline(transaction=False)
        pipeline.lrem(name, 0, text)
        pipeline.rpush(name, text)
        pipeline.ltrim(name, -MOST_CHANGES, -1)
        pipeline.expire(name, 2 * LISTENING_SECONDS)
        pipeline.execute()

    attempt(push, default=None)


def next_change(session: str, seconds: float) -> JSONObject | None:
    """Return the next change; None after so many seconds. Raises RedisError, OSError."""
    name = _key(session, "changes")
    reply: Any = blocking_client().execute_command("BLPOP", name, seconds)  # type: ignore[no-untyped-call]
    return json.loads(reply[1]) if reply else None


def _key(session: str, name: str) -> str:
    return f"pegboard:mcp-session:{session}:{name}"
