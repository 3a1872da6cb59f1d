"""Waiting for the end of a call or a request: Redis signals it, Postgres confirms it.

While Redis is down, Postgres is polled with backoff.
"""

import json
import threading
import time
from collections.abc import Generator, Iterator
from functools import lru_cache
from typing import TypeVar
from uuid import UUID

from django.conf import settings
from django.db import connection
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from acl.platform.database_connections import columns_of, made, rows_of
from acl.platform.redis_circuit import attempt, redis_circuit
from catalog.formats.descriptors import JSONObject
from discovery.calls.channel import messages_key, take_message
from discovery.models import Call, ServerRequest

Row = TypeVar("Row", Call, ServerRequest)
# Postgres is read at least this often, since a signal may be lost.
_LISTEN_SECONDS = 1.0
_KEPT_SECONDS = 120
_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
_READ_EVERY = 5  # seconds of silence
# At most 4 of the web server's 8 threads may long-poll, so that slow tools cannot exhaust the pool;
# the others answer after a second that the call is still running.
_LONG_POLLS, _SHORT_POLL_SECONDS = threading.BoundedSemaphore(4), 1.0


def notify_waiters(pk: UUID) -> None:
    """Signal the end of a call. One list entry serves all waiters: each puts it back."""
    key = _key(pk)

    def push(redis: Redis) -> None:
        pipeline = redis.pipeline(transaction=False)
        pipeline.rpush(key, b"1")
        pipeline.expire(key, _KEPT_SECONDS)
        pipeline.execute()

    attempt(push, default=None)


def wait_for_end(call: Row, seconds: float) -> Row:
    """Wait up to `seconds` for the row to end; return its latest state.

    What waits in the queue while Redis is down reaches no worker before Redis is back: then only a
    second.
    """
    if seconds <= 0:
        return call
    latest = _wait(call, min(seconds, _SHORT_POLL_SECONDS))
    if latest.state in call.ENDED or seconds <= _SHORT_POLL_SECONDS:
        return latest
    if latest.state == call.State.QUEUED and redis_circuit.failing:
        return latest
    if not _LONG_POLLS.acquire(blocking=False):
        return latest
    try:
        return _wait(latest, seconds - _SHORT_POLL_SECONDS)
    finally:
        _LONG_POLLS.release()


def iterate_states(call: Call, seconds: float) -> Iterator[Call]:
    """Yield the call now and after each change of state, until it ends or `seconds` have passed.

    Only one second if too many requests are long-polling already.
    """
    yield call
    long_poll = _LONG_POLLS.acquire(blocking=False)
    deadline = time.monotonic() + (seconds if long_poll else min(seconds, _SHORT_POLL_SECONDS))
    try:
        while call.state not in Call.ENDED and (remaining := deadline - time.monotonic()) > 0:
            was, call = call.state, _wait(call, min(remaining, _LISTEN_SECONDS))
            if call.state != was:
                yield call
    finally:
        if long_poll:
            _LONG_POLLS.release()


def follow_messages(call: Call, seconds: float) -> Generator[JSONObject | None, None, Call]:
    """Yield what the call's server says, and None in every second of silence, until the call ends
    or `seconds` have passed. Return the call.

    No connection to the database is kept meanwhile.
    """
    deadline, silent = time.monotonic() + seconds, 0
    release_connection()
    while (remaining := deadline - time.monotonic()) > 0:
        message, has_ended = _next_message(call.pk, min(remaining, _LISTEN_SECONDS))
        if message is not None:
            silent = 0
            yield message
            continue
        silent += 1
        # The end may have been signalled to nobody, so the row is read now and then, too.
        if has_ended or silent % _READ_EVERY == 0:
            call = _read(call) or call
            release_connection()
            if call.state in Call.ENDED:
                break
        yield None
    while (message := take_message(call.pk)) is not None:
        yield message
    return call


def release_connection() -> None:
    """Give the database's connection back, as long as no transaction needs it."""
    if not connection.in_atomic_block:
        connection.close()


def _next_message(pk: UUID, seconds: float) -> tuple[JSONObject | None, bool]:
    """Return the next message, or None after `seconds`, and whether the call seems to have
    ended."""
    if redis_circuit.failing and not attempt(lambda redis: bool(redis.ping()), default=False):
        time.sleep(min(seconds, _LONGEST_PAUSE))
        return None, True
    waiting = blocking_client()
    try:
        # Messages first: the end is told after the last one.
        keys = (messages_key(pk), _key(pk))
        reply = waiting.execute_command("BLPOP", *keys, seconds)  # type: ignore[no-untyped-call]
    except (RedisError, OSError):
        attempt(lambda redis: redis.ping(), default=None)
        return None, True
    if not reply:
        return None, False
    if reply[0].decode() == keys[0]:
        return json.loads(reply[1]), False
    notify_waiters(pk)  # others may wait for the end
    return None, True


def _wait(call: Row, seconds: float) -> Row:
    deadline, pause = time.monotonic() + seconds, _PAUSE
    while (remaining := deadline - time.monotonic()) > 0:
        listened_until = time.monotonic() + min(remaining, _LISTEN_SECONDS)
        heard = _listen(call.pk, min(remaining, _LISTEN_SECONDS))
        call = _read(call) or call
        if call.state in call.ENDED:
            break
        # Woken early without an end: Redis is down, or the signal was stale.
        if heard or time.monotonic() < listened_until - _PAUSE:
            time.sleep(min(pause, remaining))
            pause = min(2 * pause, _LONGEST_PAUSE)
    return call


def _read(call: Row) -> Row | None:
    table = call._meta.db_table
    statement = f"SELECT {columns_of(type(call), 'c')} FROM {table} c WHERE c.id = %(pk)s::uuid"  # noqa: S608
    return next((made(type(call), row) for row in rows_of(statement, {"pk": call.pk})), None)


def _listen(pk: UUID, seconds: float) -> bool:
    """Return True if the signal came; False on a timeout or while Redis is down."""
    if redis_circuit.failing and not attempt(lambda redis: bool(redis.ping()), default=False):
        return False
    try:
        key = _key(pk)
        waiting = blocking_client()
        # Sent as a raw command: the client types `blmove`'s timeout as whole seconds.
        moved = waiting.execute_command("BLMOVE", key, key, "LEFT", "RIGHT", seconds)  # type: ignore[no-untyped-call]
        return bool(moved)
    except (RedisError, OSError):
        attempt(lambda redis: redis.ping(), default=None)  # opens the circuit for other threads
        return False


def _key(pk: UUID) -> str:
    return f"pegboard:call:{pk.hex}"


def blocking_client() -> Redis:
    """Return a client like `redis_client` whose timeout allows blocking commands of a second."""
    return _client(settings.REDIS_URL)


@lru_cache(maxsize=4)
def _client(url: str) -> Redis:
    seconds = settings.PEGBOARD_REDIS_TIMEOUT_MS / 1000
    return Redis.from_url(
        url,
        socket_timeout=_LISTEN_SECONDS + 1,
        socket_connect_timeout=seconds,
        retry=Retry(NoBackoff(), 0),
    )
