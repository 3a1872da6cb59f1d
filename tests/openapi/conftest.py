"""A library's API on this machine, and an admin who may reach it."""

from collections.abc import Iterator

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from catalog.servers.connections._session_pool import ConnectionPool
from tests.catalog.conftest import embedder as embedder
from tests.connection_loops import own_connections
from tests.factories import UserFactory
from tests.openapi.documents import library
from tests.openapi.mock import MockApi, mock_api


@pytest.fixture
def api(settings: Settings) -> Iterator[MockApi]:
    """The library, which signs people in by a key, at an address that an admin has allowed."""
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_CALL_WAIT_SECONDS = 0  # no worker comes: tests run the call themselves
    with mock_api(library(servers=[{"url": "/"}])) as server:
        settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", server.server_port),)
        with own_connections(lambda: ConnectionPool()):
            yield server


@pytest.fixture
def alice() -> User:
    """An admin."""
    return UserFactory.create(username="alice", is_staff=True)
