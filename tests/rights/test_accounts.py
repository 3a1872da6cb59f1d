"""Accounts in calls: an actor uses shared ones only, a chat backend its users' own."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from acl.keys.lifecycle import create_key
from acl.models import AuditEntry
from catalog.models import Integration
from catalog.servers.connections.event_loop import ConnectionLoop
from catalog.servers.secrets.store import set_secret
from discovery.models import Call
from tests.access.people import People
from tests.calls.conftest import loop
from tests.calls.worker import run_call
from tests.connections.addresses import evil_server
from tests.factories import CapabilityFactory, IntegrationFactory, give
from tests.rights.conftest import Staff, session_of
from tests.web.conftest import client_with

__all__ = ["loop"]  # the connections of a worker, in this process
KIND = "application/json"
HELLO = {"name": "a__echo", "arguments": {}}


@pytest.fixture
def server(people: People, settings: Settings) -> Iterator[tuple[Integration, list[Any]]]:
    """A server with required tokens, and what it received. alice has a token of her own."""
    with evil_server() as address:
        settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", address.server_port),)
        integration = IntegrationFactory.create(
            slug="a",
            transport="http",
            endpoint=f"http://127.0.0.1:{address.server_port}/",
            required_secrets=["TOKEN"],
            own_secrets=True,
        )
        set_secret(
            integration=integration,
            name="TOKEN",
            value="token-of-alice",
            by=people.alice,
            user=people.alice,
        )
        give(integration, people.support)
        CapabilityFactory.create(integration=integration, action="echo")
        yield integration, address.asked


def send(client: Client, **more: str) -> Call:
    begun = client.post("/api/v1/execute", {**HELLO, **more}, KIND)
    call = Call.objects.get(pk=begun.json()["call_id"])
    run_call(call.pk)
    call.refresh_from_db()
    return call


def test_session_for_another_never_sends_their_token(
    people: People, staff: Staff, server: tuple[Integration, list[Any]], loop: ConnectionLoop
) -> None:
    integration, asked = server

    without = send(session_of(staff.hugo), user="alice")

    assert (without.state, without.reason) == ("failed", "sign_in_needed")
    assert "TOKEN" in without.message
    assert asked == []
    integration.refresh_from_db()
    assert integration.connection == "connected"  # it says nothing about the server

    set_secret(integration=integration, name="TOKEN", value="shared-token", by=staff.root)
    send(session_of(staff.hugo), user="alice")

    sent = json.dumps([headers for _, headers in asked])
    assert "shared-token" in sent
    assert "token-of-alice" not in sent
    assert AuditEntry.objects.filter(action="call.acted_for").count() == 2


@pytest.mark.parametrize("door", ["session", "key"])
def test_person_and_chat_backend_send_the_token_of_the_person(
    people: People, server: tuple[Integration, list[Any]], loop: ConnectionLoop, door: str
) -> None:
    _, raw = create_key(
        by=None, name="k", group=people.support, scopes=["execute"], acts_for_users=True
    )
    client = session_of(people.alice) if door == "session" else client_with(raw)

    send(client, user="alice")

    assert "token-of-alice" in json.dumps([headers for _, headers in server[1]])
