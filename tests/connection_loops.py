"""A worker's connections to servers, in the process of a test."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from catalog.servers.connections import server_requests
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.connections.event_loop import ConnectionLoop


@contextmanager
def own_connections(
    build: Callable[[], ConnectionPool] = ConnectionPool,
) -> Iterator[ConnectionLoop]:
    """Give requests to servers their own connections until the block ends.

    A process has one loop for its life; a test has limits of its own, and leaves no program behind.
    """
    loop = ConnectionLoop(build)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_requests, "connection_loop", loop)
        try:
            yield loop
        finally:
            loop.stop()
