"""The call listener: one thread takes call ids from a Redis list, several start the calls.

Celery tasks would cost more CPU time than the rest of a call. A lost id does no harm: the row is
the call, and the sweeper sends the id again.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from uuid import UUID

import structlog
from django.conf import settings
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from acl.platform.database_failures import retry_on_lost_connection
from discovery.calls.call_state import QUEUE
from discovery.calls.call_worker import start_call

_LISTEN_SECONDS = 1
_THREADS = 8
log = structlog.get_logger(__name__)


class Listener:
    """Takes calls from the queue and starts each in a thread that does not wait for its server."""

    def __init__(self, work: Callable[[UUID], None] = start_call, queue: str = QUEUE) -> None:
        self._work = work
        self._queue = queue
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="calls", daemon=True)

    def start(self) -> None:
        """Start listening."""
        self._thread.start()

    def stop(self) -> None:
        """Stop taking calls; those already taken are started."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join(2 * _LISTEN_SECONDS + 1)

    def _listen(self) -> None:
        redis = Redis.from_url(
            settings.REDIS_URL,
            socket_timeout=_LISTEN_SECONDS + 1,
            socket_connect_timeout=1,
            retry=Retry(NoBackoff(), 0),
        )
        with redis, ThreadPoolExecutor(_THREADS, thread_name_prefix="sending") as threads:
            while not self._over.is_set():
                try:
                    taken = redis.blpop([self._queue], timeout=_LISTEN_SECONDS)
                except (RedisError, OSError):
                    self._over.wait(_LISTEN_SECONDS)
                    continue
                if isinstance(taken, list | tuple):
                    threads.submit(self._begin, taken[1])

    def _begin(self, message: bytes | str) -> None:
        with suppress(ValueError):  # not a call id
            pk = UUID(message.decode() if isinstance(message, bytes) else message)
            try:
                retry_on_lost_connection(partial(self._work, pk))
            except Exception:
                log.exception("call could not be started", call=str(pk))
