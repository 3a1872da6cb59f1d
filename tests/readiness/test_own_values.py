"""Personal values and shared ones: none that steers a call takes a shared credential along.

The rule is worked out here again, in plain Python and from the values that were chosen, and
compared with what readiness tells, what a connection is built of, and what a server receives.
"""

import sys
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.db import connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from catalog.models import Integration, OAuthConnection
from catalog.readiness.obstacles import Obstacle, obstacle_sql
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import ApiServer, Server, StdioServer
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.connections.params import build_server
from catalog.servers.connections.server_requests import call_tool
from catalog.servers.oauth._authorization_server import TOKEN, store_value
from catalog.servers.secrets.store import list_secret_states, set_secret
from tests.connection_loops import own_connections
from tests.connections.evil_server import EVIL, QUICK
from tests.connections.scripted import Message, ScriptedServer, scripted_server
from tests.examples import EXAMPLES
from tests.factories import IntegrationFactory, UserFactory

pytestmark = pytest.mark.django_db

# Each name, and whether it is recognisably that of a credential.
NAMES = {
    "JIRA_URL": False, "HOST": False, "LOG_LEVEL": False, "TOKEN_ENDPOINT": False, "Проект": False,
    "API_TOKEN": True, "JIRA_USERNAME": True, "tenant-key": True, "PASSWORD": True,
}  # fmt: skip
HEADERS = {
    "Authorization": True, "X-Api-Key": True, "X-Jira-Url": False, "X-Upstream": False,
}  # fmt: skip
NEEDS_SOMETHING = {
    Obstacle.OWN_SECRET, Obstacle.SHARED_SECRET, Obstacle.OWN_ACCOUNT, Obstacle.SHARED_ACCOUNT,
}  # fmt: skip


@pytest.fixture(autouse=True)
def keys(settings: Settings) -> None:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_LAUNCHERS = (sys.executable,)
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = [("127.0.0.1", None), ("localhost", None)]


@dataclass
class Mix:
    """A made integration: where its values go, and whose they are."""

    transport: str
    allowed: bool
    in_place: frozenset[str]  # filled into the address or the command
    headers: dict[str, str]  # of a header, the name that fills it
    required: list[str]
    shared: set[str]
    own: set[str]
    shared_account: bool
    own_account: bool

    @classmethod
    def random(cls, random: Random) -> "Mix":
        """Return a mix in which a person often has a value of their own."""

        remote = (transport := random.choice(["http", "sse", "openapi", "stdio"])) != "stdio"
        # A program's variables have plain names.
        names = [name for name in NAMES if remote or (name.isascii() and name.isidentifier())]

        def some(chance: float) -> set[str]:
            return {name for name in names if random.random() < chance}

        sendable = [name for name in names if name.isascii()]  # also as a placeholder
        headers = {name: random.choice(sendable) for name in HEADERS if random.random() < 0.4}
        ascii_names = frozenset(name for name in some(0.2) if name.isascii())
        return cls(
            transport=transport,
            allowed=random.random() < 0.8,
            in_place=frozenset() if transport == "openapi" else ascii_names,
            headers=headers if transport in ("http", "sse") and random.random() < 0.6 else {},
            required=sorted(some(0.15)),
            shared=some(0.3),
            own=some(random.choice([0.0, 0.15, 0.9, 1.0])),
            shared_account=remote and random.random() < 0.3,
            own_account=remote and random.random() < 0.3,
        )

    @property
    def used(self) -> set[str]:
        return self.own if self.allowed else set()

    def steers(self, name: str) -> bool:
        """Return True if the value of a name may decide where a call goes, or what runs."""
        filled = [header for header, by in self.headers.items() if by == name]
        elsewhere = any(not HEADERS[header] for header in filled)
        return not NAMES[name] or name in self.in_place or elsewhere

    @property
    def alone(self) -> bool:
        return any(self.steers(name) for name in self.used)

    @property
    def lacks_something(self) -> bool:
        """Return True if the person, or an admin, has to add a value or an account first."""
        if self.alone:
            if not {*self.required, *self.shared} <= self.used:
                return True
            has_credential = any(not self.steers(name) for name in self.used)
            return self.shared_account and not (self.own_account or has_credential)
        return not {*self.required} <= self.used | self.shared

    def store(self, alice: User) -> Integration:
        """Store it, with values that say whose they are."""
        places = "/".join(f"${{{name}}}" for name in sorted(self.in_place))
        stdio, http = self.transport == "stdio", self.transport in ("http", "sse")
        schemes = {f"s{n}": {"as": "bearer", "secrets": [n], "about": ""} for n in NAMES}
        reference: dict[str, Any] = {"security": schemes} if self.transport == "openapi" else {}
        if self.headers:
            filled = {header: f"${{{name}}}" for header, name in self.headers.items()}
            reference = {"headers": filled}
        row = IntegrationFactory.create(
            transport=self.transport,
            kind="mcp" if stdio or http else "openapi",
            endpoint="" if stdio else f"https://tools.example/{places}",
            command=[sys.executable, "-I", str(EVIL), f"--at={places}"] if stdio else [],
            required_secrets=self.required,
            own_secrets=self.allowed,
            source_ref=reference,
            connection="connected",
        )
        for owner, names in ((None, self.shared), (alice, self.own)):
            for name in names:
                value = f"{'own' if owner else 'shared'}-value"
                set_secret(integration=row, name=name, value=value, by=alice, user=owner)
        for owner, exists in ((None, self.shared_account), (alice, self.own_account)):
            if exists:
                _sign_in(row, owner)
        return row


def _sign_in(row: Integration, owner: User | None) -> None:
    OAuthConnection.objects.create(integration=row, user=owner, endpoint=row.endpoint)
    token = "own-account" if owner else "shared-account"
    store_value(row, owner.pk if owner else None, TOKEN, {"access": token})


def _obstacle(row: Integration, user: User) -> Obstacle:
    sql = obstacle_sql(integration="i", user="%(user)s::bigint")
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {sql} FROM catalog_integration i WHERE i.id = %(id)s",  # noqa: S608
            {"user": user.pk, "id": row.pk},
        )
        return Obstacle(cursor.fetchone()[0])


def _parts(server: Server) -> str:
    if isinstance(server, StdioServer):
        return f"{server.command} {dict(server.environment)}"
    if isinstance(server, ApiServer):
        return f"{server.url} {dict(server.values)}"
    return f"{server.url} {dict(server.headers)}"


@settings(max_examples=EXAMPLES * 5, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_readiness_and_connection_agree_on_every_mix(seed: int) -> None:
    mix = Mix.random(Random(seed))

    with transaction.atomic():
        alice = UserFactory.create()
        row = mix.store(alice)
        obstacle, parts, refusal = _obstacle(row, alice), "", None
        try:
            parts = _parts(build_server(row, user_id=alice.pk))
        except ServerProblemError as problem:
            refusal = problem.reason
        transaction.set_rollback(True)

    missing = refusal is Reason.SIGN_IN_NEEDED
    assert missing == (refusal is not None)
    assert missing == (obstacle in NEEDS_SOMETHING) == mix.lacks_something, (mix, obstacle)
    assert not (mix.alone and "shared-" in parts), (mix, parts)
    assert mix.allowed or "own-" not in parts


def test_a_host_of_ones_own_never_receives_the_shared_credential() -> None:
    alice, bob = UserFactory.create(), UserFactory.create()
    seen: list[tuple[str, str]] = []

    def script(server: ScriptedServer, message: Message) -> None:
        seen.append((server.name, server.headers.get("Authorization", "")))

    with (
        scripted_server(script) as shared,
        scripted_server(script) as alices,
        own_connections(lambda: ConnectionPool(limits=QUICK)),
    ):
        shared.name, alices.name = "shared", "alice"
        jira = IntegrationFactory.create(
            transport="http",
            endpoint="http://127.0.0.1:${PORT}/mcp",
            required_secrets=["PORT", "JIRA_TOKEN"],
            source_ref={"headers": {"Authorization": "Bearer ${JIRA_TOKEN}"}},
            own_secrets=True,
        )
        for owner, port, token in (
            (None, shared.server_port, "token-of-everybody"),
            (alice, alices.server_port, ""),
        ):
            set_secret(integration=jira, name="PORT", value=str(port), by=alice, user=owner)
            if token:
                set_secret(integration=jira, name="JIRA_TOKEN", value=token, by=alice)

        with pytest.raises(ServerProblemError) as refused:
            call_tool(jira, "echo", {}, user_id=alice.pk)
        call_tool(jira, "echo", {}, user_id=bob.pk)
        before = [*seen]
        set_secret(integration=jira, name="JIRA_TOKEN", value="of-alice", by=alice, user=alice)
        call_tool(jira, "echo", {}, user_id=alice.pk)
        call_tool(jira, "echo", {}, user_id=bob.pk)

    assert (refused.value.reason, refused.value.detail) == (
        Reason.SIGN_IN_NEEDED, "Not set: JIRA_TOKEN",
    )  # fmt: skip
    assert {*before} == {("shared", "Bearer token-of-everybody")}
    assert {*seen} == {*before, ("alice", "Bearer of-alice")}


def test_a_person_is_told_which_values_are_needed() -> None:
    alice = UserFactory.create()
    row = IntegrationFactory.create(
        transport="http", endpoint="https://a.example/", own_secrets=True
    )
    set_secret(integration=row, name="API_TOKEN", value="shared", by=alice)
    before = [state.name for state in list_secret_states(row, user=alice)]
    set_secret(integration=row, name="JIRA_URL", value="https://b.example", by=alice, user=alice)

    after = {state.name: bool(state.set_at) for state in list_secret_states(row, user=alice)}

    assert before == []
    assert after == {"API_TOKEN": False, "JIRA_URL": True}
    assert _obstacle(row, alice) is Obstacle.OWN_SECRET


def test_own_credential_comes_before_a_shared_account() -> None:
    alice = UserFactory.create()
    row = IntegrationFactory.create(
        transport="http", endpoint="https://a.example/", own_secrets=True
    )
    _sign_in(row, None)
    set_secret(integration=row, name="API_TOKEN", value="of-alice", by=alice, user=alice)

    assert "Bearer of-alice" in _parts(build_server(row, user_id=alice.pk))
    assert "Bearer shared-account" in _parts(build_server(row))
