"""The channel between a running call's worker and the web process with the client's stream.

Messages of the server wait in a Redis list of the call. A task has no stream, so its questions wait
in a hash until they are answered. What the client says goes to all workers,
of which one runs the call. All of it may be lost: then a question stays without an answer, and the
call goes on or fails by itself.
"""

import json
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast
from uuid import UUID

import structlog
from django.conf import settings
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from acl.platform.redis_circuit import attempt
from acl.platform.strict_json import write_json
from catalog.formats.descriptors import JSONObject

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
        for connection in [*getattr(pool, "_in_use_connections", ())]:
            if connection._sock is not None:
                with suppress(OSError):
                    connection._sock.shutdown(socket.SHUT_RDWR)

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
