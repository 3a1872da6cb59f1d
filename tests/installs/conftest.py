"""An installing admin, and connections with short limits."""

import sys
from collections.abc import Iterator

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Permission, User
from pytest_django.fixtures import Settings

from catalog.servers.connections._session_pool import ConnectionPool
from tests.catalog.conftest import embedder as embedder
from tests.connection_loops import own_connections
from tests.connections.evil_server import QUICK
from tests.factories import UserFactory


@pytest.fixture
def quick_connections(settings: Settings) -> Iterator[None]:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_LAUNCHERS = (sys.executable,)
    with own_connections(lambda: ConnectionPool(limits=QUICK)):
        yield


@pytest.fixture
def alice() -> User:
    """An admin with the right to install programs."""
    alice = UserFactory.create(username="alice", is_staff=True)
    alice.user_permissions.add(Permission.objects.get(codename="install_stdio"))
    return alice
