"""The channel of a running call between web and worker: messages of both sides, and the end.

Messages of the server wait in a Redis list of the call. A task has no stream, so its questions wait
in a hash until they are answered. What the client says goes to all workers, of which one runs the
call. All of it may be lost: then a question stays without an answer, and the call goes on or fails
by itself. The end of a call or a request is signalled by Redis and confirmed by Postgres.
"""

import json
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar, cast
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from acl.platform.database_connections import columns_of, made, rows_of
from acl.platform.redis_circuit import attempt, redis_circuit
from acl.platform.strict_json import write_json
from catalog.formats.descriptors import JSONObject
from discovery.models import Call, ServerRequest

# Thread of a worker that listens to Redis until it is told to stop.

LISTEN_SECONDS = 10
PAUSE_SECONDS = 1  # where Redis does not answer


class ListenerThread(ABC):
    """A daemon thread; subclasses listen, LISTEN_SECONDS at a time, until `_over` is set."""

    def __init__(self, name: str) -> None:
        self._over = threading.Event()
        self._redis: Redis | None = None  # what it listens to
        self._thread = threading.Thread(target=self._listen, name=name, daemon=True)

    def start(self) -> None:
        """Start listening."""
        self._thread.start()

    def stop(self) -> None:
        """Stop listening; what has been taken already is carried out."""
        self._over.set()
        deadline = time.monotonic() + LISTEN_SECONDS + 2 * PAUSE_SECONDS
        while self._thread.is_alive() and time.monotonic() < deadline:
            self._end_reading()
            self._thread.join(0.05)

    def _end_reading(self) -> None:
        """End a read that would otherwise last LISTEN_SECONDS; its thread closes the connection."""
        pool = self._redis.connection_pool if self._redis is not None else None
        for reading in [*getattr(pool, "_in_use_connections", ())]:
            if reading._sock is not None:
                with suppress(OSError):
                    reading._sock.shutdown(socket.SHUT_RDWR)

    @abstractmethod
    def _listen(self) -> None: ...


_HEARD = "pegboard:calls:heard"
_KEPT_SECONDS = 600
log = structlog.get_logger(__name__)


def messages_key(pk: UUID) -> str:
    """Return the Redis key of what the server of this call says."""
    return f"pegboard:call:{pk.hex}:said"


def _questions_key(pk: UUID) -> str:
    return f"pegboard:call:{pk.hex}:asked"


def push_message(pk: UUID, message: JSONObject) -> None:
    """Pass a message of the server to whoever holds the client's stream."""
    key, text = messages_key(pk), write_json(message)

    def push(redis: Redis) -> None:
        pipeline = redis.pipeline(transaction=False)
        pipeline.rpush(key, text)
        pipeline.expire(key, _KEPT_SECONDS)
        pipeline.execute()

    attempt(push, default=None)


def take_message(pk: UUID) -> JSONObject | None:
    """Return the next message that waits, or None."""
    text: Any = attempt(lambda redis: redis.lpop(messages_key(pk)), default=None)
    return json.loads(text) if isinstance(text, bytes) else None


def keep_question(pk: UUID, message: JSONObject) -> None:
    """Keep a question of a task's server until the client asks about the task."""
    key, text = _questions_key(pk), write_json(message)

    def keep(redis: Redis) -> None:
        pipeline = redis.pipeline(transaction=False)
        pipeline.hset(key, message["id"], text)
        pipeline.expire(key, _KEPT_SECONDS + settings.PEGBOARD_ASK_SECONDS)
        pipeline.execute()

    attempt(keep, default=None)


def drop_question(pk: UUID, number: int) -> None:
    """Forget a question that is answered, or that nobody answered in time."""
    name = question_id(pk, number)
    attempt(lambda redis: redis.hdel(_questions_key(pk), name), default=0)


def waiting_questions(pk: UUID) -> dict[str, JSONObject]:
    """Return the questions that wait for an answer, by their ids."""
    empty: Any = {}
    texts = attempt(lambda redis: cast(Any, redis.hgetall(_questions_key(pk))), default=empty)
    return {name.decode(): json.loads(text) for name, text in sorted(texts.items())}


def question_id(pk: UUID, number: int) -> str:
    """Return the id of a question, by which an answer finds its call."""
    return f"{pk.hex}.{number}"


def send_answer(pk: UUID, question: int, answer: JSONObject) -> None:
    """Pass a client's answer on; the caller has checked that the call is the client's."""
    drop_question(pk, question)
    _say({"call": pk.hex, "question": question, "answer": answer})


def send_gone(pk: UUID) -> None:
    """Tell that nobody listens to this call any more."""
    _say({"call": pk.hex, "gone": True})


def send_cancellation(pk: UUID) -> None:
    """Ask for the end of this call."""
    _say({"call": pk.hex, "cancel": True})


def _say(message: JSONObject) -> None:
    text = write_json(message)
    attempt(lambda redis: bool(redis.publish(_HEARD, text)), default=False)


class ChannelListener(ListenerThread):
    """The worker's thread for what clients say of its calls."""

    def __init__(self, hear: Callable[[UUID, JSONObject], None]) -> None:
        super().__init__("clients of calls")
        self._hear = hear
        self.listening = threading.Event()

    def _listen(self) -> None:
        while not self._over.is_set():
            with suppress(RedisError, OSError):
                self._subscribe()
            self.listening.clear()
            self._over.wait(PAUSE_SECONDS)

    def _subscribe(self) -> None:
        redis = Redis.from_url(
            settings.REDIS_URL,
            socket_timeout=LISTEN_SECONDS + 1,
            socket_connect_timeout=1,
            retry=Retry(NoBackoff(), 0),
        )
        self._redis = redis
        with redis, redis.pubsub() as subscription:  # type: ignore[no-untyped-call]
            subscription.subscribe(_HEARD)
            while not self._over.is_set():
                heard = subscription.get_message(timeout=LISTEN_SECONDS)
                if heard is not None and heard["type"] == "subscribe":
                    self.listening.set()
                elif heard is not None:
                    self._take(heard["data"])

    def _take(self, data: bytes) -> None:
        try:
            message = json.loads(data)
            self._hear(UUID(message["call"]), message)
        except Exception:
            log.exception("message of a client could not be read")


# While Redis is down, Postgres is polled with backoff.
Row = TypeVar("Row", Call, ServerRequest)
# Postgres is read at least this often, since a signal may be lost.
_LISTEN_SECONDS = 1.0
_SIGNAL_SECONDS = 120
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
        pipeline.expire(key, _SIGNAL_SECONDS)
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
