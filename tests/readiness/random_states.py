"""Random states of servers, secrets, accounts and policies, and the states that follow from them.

The expected state is worked out here in plain Python, from the values that were chosen.
"""

from dataclasses import dataclass, replace
from random import Random

from django.contrib.auth.models import Group, User
from django.utils import timezone

from acl.models import Space
from catalog.models import Capability, Integration, OAuthConnection, Rule, Secret
from tests.factories import CapabilityFactory, IntegrationFactory, give, lay_down

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
