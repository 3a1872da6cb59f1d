"""Fixtures of calls: alice's group has a server, a program that counts requests, or an address."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cryptography.fernet import Fernet
from pytest_django.fixtures import Settings

from acl.platform.redis_circuit import redis_circuit
from catalog.models import Capability
from catalog.servers.connections._policy import Policy
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.connections.event_loop import ConnectionLoop
from tests.access.people import People
from tests.connection_loops import own_connections
from tests.connections.evil_server import EVIL, QUICK
from tests.factories import CapabilityFactory, IntegrationFactory, give

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
Tool = Callable[..., Capability]


@pytest.fixture(autouse=True)
def loop(settings: Settings) -> Iterator[ConnectionLoop]:
    """The connections of a worker, in this process."""
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_LAUNCHERS = (sys.executable,)
    settings.PEGBOARD_APPROVE = "propose"
    settings.PEGBOARD_CALL_WAIT_SECONDS = 0
    settings.PEGBOARD_CALL_SECONDS = 5
    redis_circuit.close()
    policy = Policy(first_pause=0.01, longest_pause=0.05)
    with own_connections(lambda: ConnectionPool(limits=QUICK, policy=policy)) as loop:
        yield loop


@pytest.fixture
def tool(people: People) -> Tool:
    """A tool of a program, misbehaving by `mode`; support may use it."""

    def make(mode: str = "", *, side_effect: str = "write", **fields: Any) -> Capability:
        integration = IntegrationFactory.create(
            slug=f"evil-{mode.replace('_', '-') or 'fine'}",
            transport="stdio",
            command=[sys.executable, "-I", str(EVIL), mode],
            **fields,
        )
        give(integration, people.support)
        return CapabilityFactory.create(
            integration=integration, action="echo", input_schema=SCHEMA, side_effect=side_effect
        )

    return make
