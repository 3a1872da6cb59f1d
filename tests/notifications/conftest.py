"""Fixtures of notifications: people, a call that waits, and a receiver on this machine."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Group, User
from pytest_django import Settings

from catalog.models import Capability
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, UserFactory, give
from tests.local_servers import Handler, serve


@dataclass
class Receiver:
    """Requests to a local server, and the status of its answers."""

    url: str = ""
    status: int = 204
    paths: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@pytest.fixture(autouse=True)
def _keys(settings: Settings) -> None:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = [("127.0.0.1", None)]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()

    class Hook(Handler):
        def do_POST(self) -> None:
            made.paths.append(self.path)
            made.bodies.append(self.sent())
            made.headers.append({name.lower(): value for name, value in self.headers.items()})
            self.reply(made.status)

    with serve(Hook) as server:
        made.url = f"http://127.0.0.1:{server.server_port}/hook?token=hush"
        yield made


@pytest.fixture
def support(db: None) -> Group:
    return GroupFactory.create(name="Support")


@pytest.fixture
def alice(support: Group) -> User:
    return UserFactory.create(username="alice", email="alice@example.com", groups=[support])


@pytest.fixture
def admin(support: Group) -> User:
    return User.objects.create_superuser("root", "root@example.com")


@pytest.fixture
def gmail(support: Group) -> Capability:
    integration = IntegrationFactory.create(slug="gmail", title="Gmail", kind="builtin")
    give(integration, support)
    return CapabilityFactory.create(integration=integration, action="send_email")
