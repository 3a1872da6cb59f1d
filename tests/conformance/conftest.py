"""Fixtures: reference servers behind Pegboard."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cryptography.fernet import Fernet
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from acl.platform.redis_circuit import redis_circuit
from catalog.models import Integration
from catalog.registration.definition_review import (
    approve_definitions,
    list_waiting,
    seen_digest,
)
from catalog.servers.tasks import sync_definitions
from discovery.calls._audience import running_calls
from discovery.calls.channel import ChannelListener
from discovery.calls.server_requests.forwarding import QUEUE
from discovery.calls.server_requests.watches import server_watches
from discovery.calls.server_requests.worker import start_request
from discovery.calls.tasks import Listener
from tests.access.people import People, invite
from tests.connection_loops import own_connections
from tests.factories import IntegrationFactory, give

GENERATIONS = ("legacy", "modern")
FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
START = ("-I", str(FOLDER / "reference_start.py"))


@pytest.fixture
def people(transactional_db: None) -> People:
    return invite()


@pytest.fixture
def generation() -> str:
    """Generation of the only server that a test needs, if it names one."""
    return ""


@pytest.fixture(scope="session")
def server_parent() -> Iterator[str]:
    """Address of the process whose children the reference servers are."""
    with TemporaryDirectory(prefix="pegboard-") as folder:  # not below pytest's: paths are short
        address = f"{folder}/parent"
        command = [sys.executable, "-m", "tests.conformance.reference_parent", address]
        parent = subprocess.Popen(  # noqa: S603 - our own script
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert parent.stdout is not None
        with parent:  # it ends with its input
            assert parent.stdout.readline()
            yield address


@pytest.fixture
def behind(
    people: People,
    live_server: LiveServer,
    settings: Settings,
    generation: str,
    server_parent: str,
) -> Iterator[str]:
    """Pegboard with a worker and reference servers; its address of MCP."""
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_LAUNCHERS = (sys.executable,)
    settings.PEGBOARD_APPROVE = "propose"
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "testserver"]
    redis_circuit.close()
    clients = ChannelListener(running_calls.hear)
    listeners: list[ChannelListener | Listener]
    listeners = [clients, Listener(), Listener(start_request, QUEUE)]
    with own_connections():
        for wanted in [generation] if generation else GENERATIONS:
            _install_reference(people, wanted, server_parent)
        for listener in listeners:
            listener.start()
        assert clients.listening.wait(60)
        yield f"{live_server.url}/mcp"
        for listener in listeners:
            listener.stop()
        server_watches.end_all()


def _install_reference(people: People, generation: str, parent: str) -> None:
    integration = IntegrationFactory.create(
        slug=f"reference-{generation}",
        kind=Integration.Kind.MCP,
        transport="stdio",
        command=[sys.executable, *START, parent, generation],
    )
    give(integration, people.support)
    sync_definitions(integration.pk)
    integration.refresh_from_db()
    seen = {row.name: seen_digest(row) for row in list_waiting(integration)}
    approve_definitions(by=people.alice, integration=integration, digests=seen)
