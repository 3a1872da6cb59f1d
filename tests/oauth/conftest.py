"""Fixtures: a server that requires a sign-in, and people."""

from collections.abc import Iterator

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Group, User
from pytest_django.fixtures import Settings

from catalog.models import Integration
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.connections.event_loop import ConnectionLoop
from tests.connection_loops import own_connections
from tests.connections.http_limits import QUICK
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, give
from tests.oauth.server import SignInServer, sign_in_server


@pytest.fixture
def server() -> Iterator[SignInServer]:
    with sign_in_server() as server:
        yield server


@pytest.fixture(autouse=True)
def loop(settings: Settings) -> Iterator[ConnectionLoop]:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = [("127.0.0.1", None)]
    with own_connections(lambda: ConnectionPool(limits=QUICK)) as loop:
        yield loop


@pytest.fixture
def root(db: None) -> User:
    return User.objects.create_superuser("root")


@pytest.fixture
def support(db: None) -> Group:
    return GroupFactory.create(name="Support")


@pytest.fixture
def mail(server: SignInServer, support: Group) -> Integration:
    row = IntegrationFactory.create(
        slug="mail", transport="http", endpoint=f"{server.origin}/mcp", own_secrets=True
    )
    give(row, support)
    CapabilityFactory.create(integration=row, action="whoami")
    return row
