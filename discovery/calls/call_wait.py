"""Waiting for the end of a call or a request: Redis signals it, Postgres confirms it.

While Redis is down, Postgres is polled with backoff.
"""

import threading
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeVar
from uuid import UUID

from django.conf import settings
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from acl.platform.prepared_statements import columns_of, made, rows_of
from acl.platform.redis_circuit import attempt, redis_circuit
from discovery.models import Call, ServerRequest

Row = TypeVar("Row", Call, ServerRequest)
# Postgres is read at least this often, since a signal may be lost.
_LISTEN_SECONDS = 1.0
_KEPT_SECONDS = 120
_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
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
    """Wait up to `seconds` for the row to end; return its latest state."""
    if seconds <= 0:
        return call
    latest = _wait(call, min(seconds, _SHORT_POLL_SECONDS))
    if latest.state in call.ENDED or seconds <= _SHORT_POLL_SECONDS:
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
        while call.state not in Call.ENDED and (left := deadline - time.monotonic()) > 0:
            was, call = call.state, _wait(call, min(left, _LISTEN_SECONDS))
            if call.state != was:
                yield call
    finally:
        if long_poll:
            _LONG_POLLS.release()


def _wait(call: Row, seconds: float) -> Row:
    deadline, pause = time.monotonic() + seconds, _PAUSE
    while (left := deadline - time.monotonic()) > 0:
        listened_until = time.monotonic() + min(left, _LISTEN_SECONDS)
        heard = _listen(call.pk, min(left, _LISTEN_SECONDS))
        call = _read(call) or call
        if call.state in call.ENDED:
            break
        # Woken early without an end: Redis is down, or the signal was stale.
        if heard or time.monotonic() < listened_until - _PAUSE:
            time.sleep(min(pause, left))
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
        waiting = _client(settings.REDIS_URL)
        # Sent as a raw command: the client types `blmove`'s timeout as whole seconds.
        moved = waiting.execute_command("BLMOVE", key, key, "LEFT", "RIGHT", seconds)  # type: ignore[no-untyped-call]
        return bool(moved)
    except (RedisError, OSError):
        attempt(lambda redis: redis.ping(), default=None)  # opens the circuit for other threads
        return False


def _key(pk: UUID) -> str:
    return f"pegboard:call:{pk.hex}"


@lru_cache(maxsize=4)
def _client(url: str) -> Redis:
    """Return a client like `redis_client` whose timeout allows blocking commands."""
    seconds = settings.PEGBOARD_REDIS_TIMEOUT_MS / 1000
    return Redis.from_url(
        url,
        socket_timeout=_LISTEN_SECONDS + 1,
        socket_connect_timeout=seconds,
        retry=Retry(NoBackoff(), 0),
    )
