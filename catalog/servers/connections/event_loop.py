"""The connections' event loop: one thread per process, with a thread-safe interface."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from catalog.servers.connections._definition_check import build_connections
from catalog.servers.connections._session_pool import ConnectionPool, close_idle_forever

T = TypeVar("T")
_STOPPING_SECONDS = 20


class ConnectionLoop:
    """A thread running one event loop; callers in other threads wait for results."""

    def __init__(self, make: Callable[[], ConnectionPool] = ConnectionPool) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._connections: ConnectionPool | None = None
        self._in_flight: set[Future[Any]] = set()

    def run(self, ask: Callable[[ConnectionPool], Awaitable[T]]) -> T:
        """Run `ask` on the loop and return its result. `ask` has its own deadlines."""
        return self.begin(ask).result()

    def begin(
        self, ask: Callable[[ConnectionPool], Awaitable[T]], *, ends: bool = True
    ) -> Future[T]:
        """Start `ask` on the loop without waiting, so that a hung server holds no thread.

        What does not end by itself is not waited for when the loop stops.
        """
        loop, connections = self._ensure_started()

        async def request() -> T:
            return await ask(connections)

        future = asyncio.run_coroutine_threadsafe(request(), loop)
        if ends:
            self._in_flight.add(future)
            future.add_done_callback(self._in_flight.discard)
        return future

    def stop(self, *, finishing_seconds: float = 0) -> None:
        """Close all connections and stop the loop, letting running requests finish first."""
        wait(tuple(self._in_flight), timeout=finishing_seconds)
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

    def _ensure_started(self) -> tuple[asyncio.AbstractEventLoop, ConnectionPool]:
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


def _run(loop: asyncio.AbstractEventLoop, connections: ConnectionPool) -> None:
    asyncio.set_event_loop(loop)
    cleanup = loop.create_task(close_idle_forever(connections))
    loop.run_forever()
    cleanup.cancel()
    loop.run_until_complete(asyncio.gather(cleanup, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


connection_loop = ConnectionLoop(build_connections)
