"""Fixtures of readiness: a worker's connections in this process, and real servers by HTTP."""

from collections.abc import Iterator

import pytest
from cryptography.fernet import Fernet
from pytest_django.fixtures import Settings

from catalog.servers.connections._policy import Policy
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.connections.event_loop import ConnectionLoop
from tests.connection_loops import own_connections
from tests.connections.evil_server import QUICK


@pytest.fixture
def connections(settings: Settings) -> Iterator[ConnectionLoop]:
    """The connections of a worker, in this process."""
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    policy = Policy(first_pause=0)  # a server that is back is asked at once
    with own_connections(lambda: ConnectionPool(limits=QUICK, policy=policy)) as loop:
        yield loop
