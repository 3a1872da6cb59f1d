"""The call listener: one thread takes call ids from a Redis list, several start the calls.

Celery tasks would cost more CPU time than the rest of a call. A lost id does no harm: the row is
the call, and the sweeper sends the id again.
"""

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
from discovery.calls.channel import LISTEN_SECONDS, ListenerThread
from discovery.calls.state import QUEUE
from discovery.calls.worker import start_call

_THREADS = 8
log = structlog.get_logger(__name__)


class Listener(ListenerThread):
    """Takes calls from the queue and starts each in a thread that does not wait for its server."""

    def __init__(self, work: Callable[[UUID], None] = start_call, queue: str = QUEUE) -> None:
        super().__init__("calls")
        self._work = work
        self._queue = queue

    def _listen(self) -> None:
        redis = Redis.from_url(
            settings.REDIS_URL,
            socket_timeout=LISTEN_SECONDS + 1,
            socket_connect_timeout=1,
            retry=Retry(NoBackoff(), 0),
        )
        with redis, ThreadPoolExecutor(_THREADS, thread_name_prefix="sending") as threads:
            while not self._over.is_set():
                try:
                    taken = redis.blpop([self._queue], timeout=LISTEN_SECONDS)
                except (RedisError, OSError):
                    self._over.wait(LISTEN_SECONDS)
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
