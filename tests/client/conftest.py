"""Fixtures of client tests: a real Pegboard over HTTP with a worker, and both clients."""

import asyncio
import inspect
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import httpx
import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.db import connections
from pegboard_client import AsyncPegboard, Pegboard, Retries
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from acl.platform.redis_circuit import redis_circuit
from catalog.models import Capability
from catalog.servers.connections._session_pool import ConnectionPool
from discovery.calls import state
from discovery.calls import tasks as call_listener
from discovery.calls.approvals import approve_call
from discovery.calls.arguments import digest_of
from discovery.models import Call
from tests.access.people import People, invite
from tests.connection_loops import own_connections
from tests.connections.evil_server import EVIL, QUICK
from tests.factories import CapabilityFactory, IntegrationFactory, UserFactory, give
from tests.web.conftest import new_key

AT_ONCE = Retries(first_pause=0)
SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "What to write."}},
    "required": ["text"],
    "additionalProperties": False,
}


@pytest.fixture
def people(transactional_db: None) -> People:
    return invite()


@pytest.fixture
def root(people: People) -> User:
    return UserFactory.create(username="root", is_staff=True, groups=[people.support])


@pytest.fixture
def key(people: People) -> str:
    """A key of a chat backend."""
    return new_key(people.support, "select", "discover", "execute")


@pytest.fixture
def notes(people: People) -> Capability:
    """A tool of a program whose answer counts the calls, so that a second one would show."""
    return _tool_of_a_program(people, "notes")


@pytest.fixture
def ledger(people: People) -> Capability:
    """The same tool with approval."""
    return _tool_of_a_program(people, "ledger", ai_access="propose")


def _tool_of_a_program(people: People, slug: str, **fields: Any) -> Capability:
    integration = IntegrationFactory.create(
        slug=slug, transport="stdio", command=[sys.executable, "-I", str(EVIL), ""]
    )
    give(integration, people.support)
    return CapabilityFactory.create(
        integration=integration,
        action="echo",
        description=f"Writes a line into the {slug} of the team.",
        side_effect="write",
        input_schema=SCHEMA,
        **fields,
    )


@pytest.fixture
def _worker(
    transactional_db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Run the worker of connections in threads of this process."""
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_LAUNCHERS = (sys.executable,)
    settings.PEGBOARD_APPROVE = "propose"
    settings.PEGBOARD_CALL_WAIT_SECONDS = 1
    redis_circuit.close()
    with own_connections(lambda: ConnectionPool(limits=QUICK)):
        monkeypatch.setattr(state, "QUEUE", "calls of a client")
        listener = call_listener.Listener(queue="calls of a client")
        listener.start()
        yield
        listener.stop()
    connections.close_all()


class Losing(httpx.BaseTransport):
    """A real transport, losing some of the answers."""

    def __init__(self, losses: int) -> None:
        self.losses, self.asked = losses, list[str]()
        self._way = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(f"{request.method} {request.url.path}")
        response = self._way.handle_request(request)
        if self.losses:
            self.losses -= 1
            response.read()
            raise httpx.ReadError("the line went dead", request=request)
        return response


class InStep:
    """AsyncPegboard with synchronous methods: each call runs to its end."""

    def __init__(self, client: AsyncPegboard) -> None:
        self._client, self._runner = client, asyncio.Runner()

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._client, name)
        if not inspect.iscoroutinefunction(attribute):
            return attribute
        return lambda *args, **named: self._runner.run(attribute(*args, **named))

    def close(self) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()


Connect = Callable[[str], Pegboard]


@pytest.fixture(params=[Pegboard, AsyncPegboard], ids=["sync", "async"])
def connect(request: pytest.FixtureRequest, live_server: LiveServer) -> Iterator[Connect]:
    """Return a client with a key; each test runs with both clients."""
    made: list[Any] = []

    def make(raw: str) -> Pegboard:
        client = request.param(live_server.url, raw, retries=AT_ONCE)
        made.append(InStep(client) if isinstance(client, AsyncPegboard) else client)
        return cast(Pegboard, made[-1])

    yield make
    for client in made:
        client.close()


def meanwhile_approved(by: User, work: Callable[[], Any]) -> Any:
    """Return the result of `work`, whose call is approved meanwhile."""
    with ThreadPoolExecutor(1) as thread:
        doing = thread.submit(work)
        while not doing.done():
            call = Call.objects.filter(state=Call.State.WAITING).first()
            if call is not None:
                approve_call(by=by, call=call, digest=digest_of(call))
                break
            time.sleep(0.02)
        return doing.result()
