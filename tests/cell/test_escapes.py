"""A hostile server tries what it can think of; nothing works, and honest calls do."""

import json
import secrets
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from pytest_django.fixtures import Settings

from catalog.models import Integration, OutgoingHost
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import MB
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.connections.event_loop import ConnectionLoop
from catalog.servers.connections.server_requests import call_tool
from tests.cell.escapes import ATTEMPTS
from tests.cell.outside import outside
from tests.connection_loops import own_connections
from tests.connections.evil_server import QUICK, text_of

pytestmark = pytest.mark.processes
SLEEP = ["/bin/sleep", "271"]
CANARY = f"canary-{secrets.token_hex(16)}"


@pytest.fixture
def world(settings: Settings, hostile: Integration) -> Iterator[dict[str, Any]]:
    """The outside of the cell: listeners, key files, secrets in the environment."""
    data, place = Path(settings.PEGBOARD_DATA_DIR), str(hostile.package["place"])
    with outside(CANARY, data=data, package=place, sockets=sockets_of(settings)) as world:
        yield world


def sockets_of(settings: Settings) -> list[Path]:
    folder = Path(str(settings.DATABASES["default"]["HOST"]))
    redis = str(settings.REDIS_URL).partition("://")[2].partition("?")[0].rpartition("@")[2]
    paths = [*folder.glob(".s.PGSQL.*"), Path(redis)] if folder.is_absolute() else [Path(redis)]
    return [path for path in paths if path.is_socket()]


def ask(integration: Integration, tool: str, **arguments: Any) -> Any:
    return json.loads(text_of(call_tool(integration, tool, arguments, seconds=60)))


def wait_for_refusal(integration: Integration, host: str) -> None:
    """Wait until the log's own thread has stored it, which may be at it already."""
    refused = OutgoingHost.objects.filter(integration=integration, host=host, allowed=False)
    deadline = time.monotonic() + 60
    while not refused.exists():
        assert time.monotonic() < deadline, list(OutgoingHost.objects.values())
        time.sleep(0.1)


@pytest.mark.usefixtures("account")
def test_hostile_server_gains_nothing_and_answers_honest_calls(
    hostile: Integration, world: dict[str, Any], loop: ConnectionLoop
) -> None:
    honest = ask(hostile, "echo", text="hello")
    gained = ask(hostile, "escape", world=world)
    found = ask(hostile, "search", world=world)
    kept = [ask(hostile, "remember"), ask(hostile, "remember")]
    ask(hostile, "detach")
    loop.run(lambda pool: pool.close_all())
    kept.append(ask(hostile, "remember"))

    assert honest == {"text": "hello"}
    assert {words: what for words, what in gained.items() if what} == {}
    assert set(gained) == set(ATTEMPTS)
    assert found == []
    assert kept == ["x", "xx", "xxx"]  # its folder lasts
    assert not [one for one in psutil.process_iter(["cmdline"]) if one.info["cmdline"] == SLEEP]
    wait_for_refusal(hostile, "unlisted.example")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("forks", Reason.TOO_MANY_PROCESSES),
        ("memory", Reason.TOO_MUCH_MEMORY),
        ("disk", Reason.TOO_MUCH_DISK),
    ],
)
def test_greedy_program_is_ended_with_its_cell(
    hostile: Integration, kind: str, reason: Reason
) -> None:
    # Forked processes share their memory, which counts for each.
    memory = 200 * MB if kind == "memory" else 2_000 * MB
    limits = replace(QUICK, memory_bytes=memory, disk_bytes=8 * MB, call_seconds=30)

    with (
        own_connections(lambda: ConnectionPool(limits=limits)),
        pytest.raises(ServerProblemError) as problem,
    ):
        ask(hostile, "misbehave", kind=kind)

    assert problem.value.reason is reason
    place = hostile.package["place"]
    assert not [
        one for one in psutil.process_iter(["cmdline"]) if place in str(one.info["cmdline"])
    ]
