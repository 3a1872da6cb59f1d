"""An installing admin, and connections with short limits."""

import sys
from collections.abc import Iterator

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Permission, User
from pytest_django.fixtures import Settings

from catalog.servers.connections import server_requests
from catalog.servers.connections.event_loop import ConnectionLoop
from catalog.servers.connections.session_pool import ConnectionPool
from tests.catalog.conftest import embedder as embedder
from tests.factories import UserFactory
from tests.mcp_client.evil_server import QUICK


@pytest.fixture
def quick_connections(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_LAUNCHERS = (sys.executable,)
    loop = ConnectionLoop(lambda: ConnectionPool(limits=QUICK))
    monkeypatch.setattr(server_requests, "connection_loop", loop)
    yield
    loop.stop()


@pytest.fixture
def alice() -> User:
    """An admin with the right to install programs."""
    alice = UserFactory.create(username="alice", is_staff=True)
    alice.user_permissions.add(Permission.objects.get(codename="install_stdio"))
    return alice
