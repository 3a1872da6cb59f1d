"""Comparison of all surfaces with the calls that follow, in random worlds."""

import json
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.test import override_settings
from django.utils import timezone
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from acl.models import Space
from catalog.models import Capability, Integration, OAuthConnection, Rule, Secret
from tests.examples import EXAMPLES_OF_PAGES
from tests.factories import (
    CapabilityFactory,
    GroupFactory,
    IntegrationFactory,
    UserFactory,
    give,
    lay_down,
)
from tests.mcp.asking import call as call_by_mcp
from tests.readiness import surfaces
from tests.readiness.surfaces import NEEDING, Said, World, brief, runs_at_pegboard

POLICIES = {
    "propose": set(),
    "delete": {"delete"},
    "write": {"unknown", "write", "delete"},
    "all": {"read", "unknown", "write", "delete"},
}
# Of the servers, those whose annotations the operator trusts.
TRUSTED = tuple(f"server-{number}" for number in range(0, 8, 3))


@dataclass
class ToolState:
    """The chosen values of one tool, and of its integration."""

    place: str  # server, stdio, api, skill, builtin
    effect: str
    sure: bool  # the words say so with enough confidence
    says_read_only: bool  # its server's annotation
    by_admin: bool
    trusted: bool
    proposes: bool
    proposes_by_rule: bool
    own_secrets: bool
    needs_secret: bool
    secret_of: str  # "", user, shared, other
    account_of: str  # "", user, shared, other
    account_problem: bool
    account_moved: bool
    connection: str
    problem: str
    unconfirmed: bool
    available: bool

    @classmethod
    def random(cls, random: Random, number: int) -> "ToolState":
        """Return a state in which most things are well, so that each obstacle comes up alone."""

        def rarely(*values: str) -> str:
            return random.choice(values) if random.random() < 0.4 else ""

        connection = random.choice(["connected", "connected", "failing", "disconnected"])
        return cls(
            place=random.choice(["server", "server", "stdio", "api", "skill", "builtin"]),
            effect=random.choice(["read", "read", "write", "delete", "unknown"]),
            sure=random.random() < 0.5,
            says_read_only=random.random() < 0.3,
            by_admin=random.random() < 0.1,
            trusted=f"server-{number}" in TRUSTED,
            proposes=random.random() < 0.1,
            proposes_by_rule=random.random() < 0.1,
            own_secrets=random.random() < 0.5,
            needs_secret=random.random() < 0.4,
            secret_of=rarely("user", "shared", "other"),
            account_of=rarely("user", "shared", "other"),
            account_problem=random.random() < 0.3,
            account_moved=random.random() < 0.1,
            connection=connection,
            problem=rarely("not_allowed", "sign_in_needed", "no_answer")
            if connection == "failing"
            else "",
            unconfirmed=random.random() < 0.1,
            available=random.random() < 0.95,
        )

    @property
    def is_remote(self) -> bool:
        return self.place in {"server", "stdio", "api"}

    def asks(self, policy: str) -> bool:
        """Return True if a person approves each call."""
        asked = self._assumed_effect() in POLICIES[policy]
        return self.proposes or self.proposes_by_rule or asked

    def _assumed_effect(self) -> str:
        """A server's tool only reads if its words, an admin or a trusted server say so."""
        if not self.is_remote or self.by_admin:
            return self.effect
        if self.trusted:
            return "read" if self.says_read_only else self.effect
        return "write" if self.effect == "read" and not self.sure else self.effect

    def expected(self, policy: str) -> str:
        """Return the state that every surface must tell."""
        if not self.available:
            return "needs_admin"
        if self.connection == "disconnected":
            return "needs_admin"
        if self.is_remote and (obstacle := self._obstacle()):
            return obstacle
        if self.asks(policy):
            return "asks_first"
        return "described_only" if self.place == "builtin" else "ready"

    def for_nobody(self) -> "ToolState":
        """Return the state of people without secrets, accounts and rules of their own."""
        owners = {"user": "other"}
        return replace(
            self,
            proposes_by_rule=False,
            secret_of=owners.get(self.secret_of, self.secret_of),
            account_of=owners.get(self.account_of, self.account_of),
        )

    def _obstacle(self) -> str:
        mine = self.own_secrets
        personal = "needs_you" if mine else "needs_admin"
        if self.unconfirmed:
            return "needs_admin"
        if self.needs_secret and not self._has(self.secret_of):
            return personal
        if self.problem == "not_allowed":
            return "needs_admin"
        if self.place != "stdio" and self._lacks_account():
            return personal
        return "failing" if self.connection == "failing" else ""

    def _has(self, owner: str) -> bool:
        return owner == "shared" or (owner == "user" and self.own_secrets)

    def _lacks_account(self) -> bool:
        if self.own_secrets and self.account_of == "user":
            return self.account_problem or self.account_moved
        if self.own_secrets and self.secret_of == "user":
            return False
        if self.problem == "sign_in_needed":
            return True
        if self.account_of == "shared":
            return self.account_problem or self.account_moved
        return self.own_secrets and bool(self.account_of)


def store(states: list[ToolState], alice: User, other: User, group: Group) -> list[Capability]:
    """Store a tool for each state; the group may use all of them."""
    return [_store(number, state, alice, other, group) for number, state in enumerate(states)]


def _store(number: int, state: ToolState, alice: User, other: User, group: Group) -> Capability:
    owners = {"user": alice, "shared": None, "other": other}
    integration = IntegrationFactory.create(
        slug=f"server-{number}",
        kind={"server": "mcp", "stdio": "mcp", "api": "openapi"}.get(state.place, "builtin"),
        transport={"server": "http", "stdio": "stdio", "api": "openapi"}.get(state.place, ""),
        endpoint="https://tools.example/mcp" if state.place in {"server", "api"} else "",
        connection=state.connection,
        problem=state.problem,
        failing_since=timezone.now() if state.connection == "failing" else None,
        unconfirmed=state.unconfirmed,
        own_secrets=state.own_secrets,
        required_secrets=["TOKEN"] if state.needs_secret else [],
    )
    if state.secret_of:
        _store_secret(integration, owners[state.secret_of])
    if state.account_of:
        OAuthConnection.objects.create(
            integration=integration,
            user=owners[state.account_of],
            endpoint="https://old.example/mcp" if state.account_moved else integration.endpoint,
            problem="It was revoked." if state.account_problem else "",
        )
    give(integration, group)
    tool = CapabilityFactory.create(
        integration=integration,
        kind="skill" if state.place == "skill" else "tool",
        action=f"do_{number}",
        description=f"Carry out errand number {number}.",
        side_effect=state.effect,
        effect_confidence=0.9 if state.sure else 0.7,
        effect_evidence={"side_effect": [{"source": "admin"}]} if state.by_admin else {},
        annotations={"readOnlyHint": True} if state.says_read_only else {},
        ai_access="propose" if state.proposes else "execute",
        available=state.available,
        input_schema={"type": "object"},
        content="Be polite." if state.place == "skill" else "",
    )
    if state.proposes_by_rule:
        lay_down(Rule.Effect.PROPOSE, tool, Space.objects.get(group=group, parent=None))
    return tool


def _store_secret(integration: Integration, owner: User | None) -> None:
    Secret.objects.create(integration=integration, user=owner, name="TOKEN", sealed=b"sealed")


# What the first answer of a call is, for each state. A failing server is tried: it may be back.
OUTCOMES = {
    "ready": {"completed", "running"},
    "asks_first": {"approval_needed"},
    "needs_you": {"failed"},
    "needs_admin": {"failed", "not found"},
    "failing": {"running", "approval_needed"},
    "described_only": {"client_executes"},
}
TOOLS = 8
WAYS = ("REST", "execute_tool", "mcp__call_tool", "execute_tool over MCP")


@pytest.mark.django_db
# A found world is told as it is: shrinking takes minutes.
@settings(max_examples=EXAMPLES_OF_PAGES, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_every_surface_says_what_a_call_does(seed: int) -> None:
    random = Random(seed)
    policy = random.choice(list(POLICIES))
    states = [ToolState.random(random, number) for number in range(TOOLS)]
    way = random.choice(WAYS)

    with _policy(policy), transaction.atomic():
        world = _store_world(states, staff=random.random() < 0.5)
        _compare(world, states, policy)
        outcomes = {number: _call(world, row, way) for number, row in enumerate(world.rows)}
        transaction.set_rollback(True)

    for number, state in enumerate(states):
        expected = state.expected(policy)
        assert outcomes[number] in OUTCOMES[expected], (state, policy, way, outcomes[number])
        assert (outcomes[number] == "approval_needed") == (
            expected in {"asks_first", "failing"} and state.asks(policy)
        )


def _policy(policy: str) -> override_settings:
    return override_settings(
        PEGBOARD_APPROVE=policy, PEGBOARD_TRUSTED_SERVERS=TRUSTED, PEGBOARD_CALL_WAIT_SECONDS=0
    )


def _store_world(states: list[ToolState], *, staff: bool) -> World:
    """Store a world. Alice is staff in half of the worlds: she is sent to other pages."""
    group = GroupFactory.create(name="Support")
    alice = UserFactory.create(username="alice", groups=[group], is_staff=staff)
    rows = store(states, alice, UserFactory.create(username="bob", groups=[group]), group)
    return surfaces.open_world(group, alice, rows)


def _compare(world: World, states: list[ToolState], policy: str) -> None:
    """Compare each surface with the expected states of all tools that it may tell of."""
    all_states: Said = {number: one.expected(policy) for number, one in enumerate(states)}
    usable = {n: state for n, state in all_states.items() if world.rows[n].available}
    connected = {n: one for n, one in usable.items() if states[n].connection != "disconnected"}
    offered = surfaces.without(NEEDING, usable)
    served = {n: one for n, one in usable.items() if runs_at_pegboard(world.rows[n])}
    servers = {n: one for n, one in usable.items() if states[n].is_remote}
    # A prompt can mark that a tool asks first or is failing, and a verdict whether it works.
    marks = {
        n: brief(one, "asks first" if states[n].asks(policy) else "runs")
        for n, one in offered.items()
    }
    verdicts = {
        n: "stopped" if one in {*NEEDING, "failing"} else one for n, one in all_states.items()
    }
    # Admins are told of people without secrets, accounts and rules of their own.
    of_nobody = {n: one.for_nobody().expected(policy) for n, one in enumerate(states)}
    expected = {
        "every": all_states,
        "usable": usable,
        "connected": connected,
        "offered": offered,
        "carried out here": {n: one for n, one in offered.items() if n in served},
        "listed": surfaces.without({*NEEDING, "failing"}, served),
        "served": served,
        "servers": servers,
        "marks": marks,
        "verdicts": verdicts,
        "of nobody": of_nobody,
    }
    for surface, tells in surfaces.SURFACES.items():
        said = surface(world)
        assert said == expected[tells], (surface.__name__, policy, said, expected[tells])


def _call(world: World, row: Capability, way: str) -> str:
    """Call the tool, and return the first answer."""
    arguments: dict[str, Any] = {"name": row.full_name, "arguments": {}}
    if way == "execute_tool over MCP":
        answer = call_by_mcp(world.key, "execute_tool", **arguments)
        return _status(answer.get("structuredContent"))
    if way == "mcp__call_tool" and row.integration.transport:
        by_server = {"server_name": row.integration.slug, "tool_name": row.action, "arguments": {}}
        return _status(_post(world, "meta/mcp__call_tool", {"arguments": by_server}))
    if way == "execute_tool":
        return _status(_post(world, "meta/execute_tool", {"arguments": arguments}))
    return _status(_post(world, "execute", arguments))


def _post(world: World, path: str, body: dict[str, Any]) -> Any:
    answer = world.client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")
    if answer.status_code == 404:
        return None
    told = answer.json()
    return told["result"] if path.startswith("meta/") else told


def _status(answer: Any) -> str:
    return str(answer["status"]) if answer else "not found"
