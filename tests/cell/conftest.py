"""A hostile package, installed like any other, and connections with short limits."""

import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from pytest_django.fixtures import Settings

from catalog.models import Integration
from catalog.servers.cell.support import cell_problem
from catalog.servers.client.launch_rules import code_digest
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.connections.event_loop import ConnectionLoop
from tests.cell.package_folder import lay_out
from tests.connection_loops import own_connections
from tests.connections.evil_server import QUICK
from tests.factories import IntegrationFactory


@pytest.fixture(params=["root", "user"])
def account(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make cells as root does, and as an ordinary user does.

    Only the command is another one: the process that starts it stays who it is.
    """
    kind = str(request.param)
    if kind == "root" and os.geteuid() != 0:
        pytest.skip("Only root makes cells without a user namespace.")
    if kind == "user":
        monkeypatch.setattr("catalog.servers.cell.command.os.geteuid", lambda: 1_000)
    return kind


@pytest.fixture
def cells(settings: Settings) -> None:
    """Require cells, or skip the test where none can be made."""
    settings.PEGBOARD_CELL = "required"
    settings.PEGBOARD_LAUNCHERS = ("uvx",)
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    if problem := cell_problem():
        pytest.skip(f"No cell can be made here: {problem}")


@pytest.fixture
def loop(cells: None) -> Iterator[ConnectionLoop]:
    with own_connections(lambda: ConnectionPool(limits=QUICK)) as loop:
        yield loop


@pytest.fixture
def hostile(
    transactional_db: None, settings: Settings, loop: ConnectionLoop
) -> Iterator[Integration]:
    """The hostile server as an installed integration, with a folder of its own."""
    servers = Path(settings.PEGBOARD_DATA_DIR) / "servers"
    place = servers / str(uuid.uuid4())
    launch = lay_out(place)
    package = {"place": place.name, "launch": launch, "digest": code_digest(place)}
    # Its number names its folder, and test processes share the data folder.
    integration = IntegrationFactory.create(
        pk=uuid.uuid4().int % 10**8,
        transport="stdio",
        command=["uvx", "hostile@1.0"],
        package=package,
    )
    yield integration
    shutil.rmtree(place)
    shutil.rmtree(servers / f"home-{integration.pk}", ignore_errors=True)
