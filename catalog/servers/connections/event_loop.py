"""The event loop of the process that holds the connections, and the door to it for tasks."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from catalog.servers.connections.definition_check import attentive_connections
from catalog.servers.connections.session_pool import Connections, keep_tidy

T = TypeVar("T")
_STOPPING_SECONDS = 20


class ConnectionLoop:
    """One thread with one event loop; what is asked runs there, whoever asks waits."""

    def __init__(self, make: Callable[[], Connections] = Connections) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._connections: Connections | None = None
        self._under_way: set[Future[Any]] = set()

    def run(self, ask: Callable[[Connections], Awaitable[T]]) -> T:
        """What `ask` answers. Its own deadlines bound it: none is set here."""
        return self.begin(ask).result()

    def begin(self, ask: Callable[[Connections], Awaitable[T]]) -> Future[T]:
        """The same without waiting: a server that hangs then holds no thread."""
        loop, connections = self._running()

        async def asked() -> T:
            return await ask(connections)

        asking = asyncio.run_coroutine_threadsafe(asked(), loop)
        self._under_way.add(asking)
        asking.add_done_callback(self._under_way.discard)
        return asking

    def stop(self, *, finishing_seconds: float = 0) -> None:
        """End every connection, and the loop; what is under way has so long to come to its end."""
        wait(tuple(self._under_way), timeout=finishing_seconds)
        with self._lock:
            loop, thread, connections = self._loop, self._thread, self._connections
            self._loop = self._thread = self._connections = None
        if loop is None or thread is None or connections is None:
            return
        closing = asyncio.run_coroutine_threadsafe(connections.close_all(), loop)
        try:
            closing.result(_STOPPING_SECONDS)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_STOPPING_SECONDS)

    def _running(self) -> tuple[asyncio.AbstractEventLoop, Connections]:
        with self._lock:
            if self._loop is None or self._connections is None:
                self._loop, self._connections = asyncio.new_event_loop(), self._make()
                self._thread = threading.Thread(
                    target=_run,
                    args=(self._loop, self._connections),
                    name="connections",
                    daemon=True,
                )
                self._thread.start()
            return self._loop, self._connections


def _run(loop: asyncio.AbstractEventLoop, connections: Connections) -> None:
    asyncio.set_event_loop(loop)
    tidying = loop.create_task(keep_tidy(connections))
    loop.run_forever()
    tidying.cancel()
    loop.run_until_complete(asyncio.gather(tidying, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


connection_loop = ConnectionLoop(attentive_connections)
