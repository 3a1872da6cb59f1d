"""Waiting for the end of a call: Redis says when to look, Postgres says what is true.

Where Redis is away, Postgres is looked at again and again, less and less often.
"""

import threading
import time
from collections.abc import Iterator
from functools import lru_cache
from uuid import UUID

from django.conf import settings
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from acl.platform.prepared_statements import columns_of, made, rows_of
from acl.platform.redis_circuit import attempt, redis_circuit
from discovery.models import Call

# One look at Postgres for each such time, whatever Redis says: a word may be lost.
_LISTEN_SECONDS = 1.0
_KEPT_SECONDS = 120
_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
# At most 4 of the web server's 8 threads may long-poll, so that slow tools cannot exhaust the pool;
# the others answer after a second that the call is still running.
_PATIENT, _IMPATIENT_SECONDS = threading.BoundedSemaphore(4), 1.0


def tell_waiters(pk: UUID) -> None:
    """The call has ended. One word is enough for all who listen: each puts it back."""
    key = _key(pk)

    def tell(redis: Redis) -> None:
        pipeline = redis.pipeline(transaction=False)
        pipeline.rpush(key, b"1")
        pipeline.expire(key, _KEPT_SECONDS)
        pipeline.execute()

    attempt(tell, default=None)


def wait_for_end(call: Call, seconds: float) -> Call:
    """The call as it is when it has ended, at the latest after so many seconds."""
    if seconds <= 0:
        return call
    told = _wait(call, min(seconds, _IMPATIENT_SECONDS))
    if told.state in Call.ENDED or seconds <= _IMPATIENT_SECONDS:
        return told
    if not _PATIENT.acquire(blocking=False):
        return told
    try:
        return _wait(told, seconds - _IMPATIENT_SECONDS)
    finally:
        _PATIENT.release()


def each_state(call: Call, seconds: float) -> Iterator[Call]:
    """The call as it stands, and again whenever its state has changed, until it has ended; at the
    latest for so many seconds, and for one where too many wait already."""
    yield call
    patient = _PATIENT.acquire(blocking=False)
    deadline = time.monotonic() + (seconds if patient else min(seconds, _IMPATIENT_SECONDS))
    try:
        while call.state not in Call.ENDED and (left := deadline - time.monotonic()) > 0:
            was, call = call.state, _wait(call, min(left, _LISTEN_SECONDS))
            if call.state != was:
                yield call
    finally:
        if patient:
            _PATIENT.release()


def _wait(call: Call, seconds: float) -> Call:
    deadline, pause = time.monotonic() + seconds, _PAUSE
    while (left := deadline - time.monotonic()) > 0:
        listened_until = time.monotonic() + min(left, _LISTEN_SECONDS)
        heard = _listen(call.pk, min(left, _LISTEN_SECONDS))
        call = _read(call.pk) or call
        if call.state in Call.ENDED:
            break
        if heard or time.monotonic() < listened_until - _PAUSE:  # Redis is away, or was mistaken
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)
    return call


def _read(pk: UUID) -> Call | None:
    statement = f"SELECT {columns_of(Call, 'c')} FROM discovery_call c WHERE c.id = %(pk)s::uuid"  # noqa: S608
    return next((made(Call, row) for row in rows_of(statement, {"pk": pk})), None)


def _listen(pk: UUID, seconds: float) -> bool:
    """Whether the word came; not where Redis is away."""
    if redis_circuit.failing and not attempt(lambda redis: bool(redis.ping()), default=False):
        return False
    try:
        key = _key(pk)
        waiting = _client(settings.REDIS_URL)
        # By hand: the client's own method takes whole seconds only, by its type.
        moved = waiting.execute_command("BLMOVE", key, key, "LEFT", "RIGHT", seconds)  # type: ignore[no-untyped-call]
        return bool(moved)
    except (RedisError, OSError):
        attempt(lambda redis: redis.ping(), default=None)  # the others need not find it out
        return False


def _key(pk: UUID) -> str:
    return f"pegboard:call:{pk.hex}"


@lru_cache(maxsize=4)
def _client(url: str) -> Redis:
    """Like `redis_client`, for one that is meant to wait."""
    seconds = settings.PEGBOARD_REDIS_TIMEOUT_MS / 1000
    return Redis.from_url(
        url,
        socket_timeout=_LISTEN_SECONDS + 1,
        socket_connect_timeout=seconds,
        retry=Retry(NoBackoff(), 0),
    )
