"""The reference implementation of rights in plain Python, which the SQL must equal.

It follows `docs/access.md` sentence by sentence, with simple loops, so that it can be verified by
reading.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from acl.rights.caller_lookup import Caller

DENY, PROPOSE, ALLOW = 0, 1, 2
Effect = Literal["no", "propose", "allow"]
EFFECTS: tuple[Effect, ...] = ("no", "propose", "allow")


@dataclass(frozen=True, slots=True)
class IntegrationFacts:
    enabled: bool = True
    approved: bool = True
    restricted: bool = False
    requestable: bool = False
    owner: int | None = None  # whose own server it is


@dataclass(frozen=True, slots=True)
class CapabilityFacts:
    integration: int
    available: bool = True
    approved: bool = True
    ai_access: str = "execute"
    ended: bool = False  # made at runtime, and its time is over


@dataclass(frozen=True, slots=True)
class RuleFacts:
    """A rule about a user, a group, or everyone if both are empty; one target is set."""

    space: int
    effect: int
    user: int | None = None
    group: int | None = None
    integration: int | None = None
    capability: int | None = None


@dataclass(frozen=True, slots=True)
class GrantFacts:
    """A grant to a user or group, on an integration or a capability."""

    user: int | None = None
    group: int | None = None
    integration: int | None = None
    capability: int | None = None


@dataclass
class World:
    """All facts that matter for rights, by primary key."""

    users: dict[int, bool] = field(default_factory=dict)  # active or not
    groups: dict[int, bool] = field(default_factory=dict)  # open or allow-listed
    members: set[tuple[int, int]] = field(default_factory=set)  # user, group
    spaces: dict[int, tuple[int, int | None]] = field(default_factory=dict)  # group, parent
    integrations: dict[int, IntegrationFacts] = field(default_factory=dict)
    capabilities: dict[int, CapabilityFacts] = field(default_factory=dict)
    rules: set[RuleFacts] = field(default_factory=set)
    grants: set[GrantFacts] = field(default_factory=set)
    # Integrations that each chat application may reach; none named means all.
    applications: dict[int, frozenset[int]] = field(default_factory=dict)

    def bring(self, integration: int) -> set[int]:
        """Return an integration's capabilities."""
        return {pk for pk, facts in self.capabilities.items() if facts.integration == integration}

    def usable(self, caller: Caller) -> dict[int, Effect]:
        """Return all capabilities that `caller` may use, with their modes."""
        answers = {pk: self.answer(caller, pk) for pk in self.capabilities}
        return {pk: answer for pk, answer in answers.items() if answer != "no"}

    def requestable(self, caller: Caller) -> set[int]:
        """Return the capabilities that `caller` may be told the names of, to ask for them."""
        owner = self.spaces.get(caller.space_id or 0, (None, None))[0]
        if caller.other_groups and caller.space_id is not None and owner not in caller.group_ids:
            return set()
        alone = [
            Caller(
                caller.user_id,
                group,
                caller.space_id if group == owner else None,
                application_id=caller.application_id,
            )
            for group in caller.group_ids
        ]
        asked = alone if caller.other_groups else [caller]
        return {pk for pk in self.capabilities if all(self._may_ask(one, pk) for one in asked)}

    def _may_ask(self, caller: Caller, capability: int) -> bool:
        """Return True if the integration is marked, and nothing but a grant is missing."""
        facts = self.capabilities[capability]
        if not self.integrations[facts.integration].requestable:
            return False
        path = self._path(caller)
        if path is None or self._nearest_rule(caller, capability, path) is not None:
            return False
        if (caller.user_id, caller.group_id) not in self.members:
            return False
        if not self._is_reached(caller, facts.integration):
            return False
        everyone = replace(self, grants={GrantFacts(caller.user_id, capability=capability)})
        return not self._granted(caller, capability) and everyone.answer(caller, capability) != "no"

    def answer(self, caller: Caller, capability: int) -> Effect:
        """Return the caller's mode for one capability."""
        if not self._is_reached(caller, self.capabilities[capability].integration):
            return "no"
        if caller.other_groups:
            return self._united_answer(caller, capability)
        path = self._path(caller)
        if not self.users.get(caller.user_id) or path is None:
            return "no"
        if (caller.user_id, caller.group_id) not in self.members:
            return "no"
        facts = self.capabilities[capability]
        integration = self.integrations[facts.integration]
        if not (integration.enabled and integration.approved):
            return "no"
        if integration.owner not in (None, caller.user_id):
            return "no"
        if not (facts.available and facts.approved) or facts.ai_access in (
            "app",
            "blocked",
        ):
            return "no"
        if facts.ended:
            return "no"
        effect = self._nearest_rule(caller, capability, path)
        if effect is None:
            effect = ALLOW if self._granted(caller, capability) else DENY
        if effect == ALLOW and facts.ai_access == "propose":
            effect = PROPOSE
        return EFFECTS[effect]

    def _united_answer(self, caller: Caller, capability: int) -> Effect:
        """Return the best answer of all groups, limited by the rules of the requested space."""
        space = caller.space_id
        owner = self.spaces.get(space, (None, None))[0] if space is not None else None
        if space is not None and (
            owner not in caller.group_ids or (caller.user_id, owner) not in self.members
        ):
            return "no"
        answers = []
        for group in caller.group_ids:
            alone = Caller(caller.user_id, group, space if group == owner else None)
            answers.append(EFFECTS.index(self.answer(alone, capability)))
        best = max(answers)
        if owner is not None:
            path = self._path(Caller(caller.user_id, owner, space)) or []
            decided = self._nearest_rule(caller, capability, path)
            best = best if decided is None else min(best, decided)
        return EFFECTS[best]

    def _is_reached(self, caller: Caller, integration: int) -> bool:
        """Return True unless an application asks that may not reach it, or that is gone."""
        if caller.application_id is None:
            return True
        allowed = self.applications.get(caller.application_id)
        return allowed is not None and (not allowed or integration in allowed)

    def _path(self, caller: Caller) -> list[int] | None:
        """Return the caller's space and its ancestors, nearest first; None for another group's
        space."""
        space = caller.space_id
        if space is None:
            roots = [pk for pk, facts in self.spaces.items() if facts == (caller.group_id, None)]
            space = roots[0] if roots else None
        elif self.spaces.get(space, (None, None))[0] != caller.group_id:
            return None
        path = []
        while space is not None and self.spaces[space][0] == caller.group_id:
            path.append(space)
            space = self.spaces[space][1]
        return path

    def _nearest_rule(self, caller: Caller, capability: int, path: list[int]) -> int | None:
        targets = {(None, capability), (self.capabilities[capability].integration, None)}
        groups = {group for user, group in self.members if user == caller.user_id}
        for space in path:
            effects = [
                rule.effect
                for rule in self.rules
                if rule.space == space
                and (rule.integration, rule.capability) in targets
                and rule.user in {None, caller.user_id}
                and (rule.group is None or rule.group in groups)
            ]
            if effects:
                return min(effects)
        return None

    def _granted(self, caller: Caller, capability: int) -> bool:
        integration = self.capabilities[capability].integration
        subjects = ({"user": caller.user_id}, {"group": caller.group_id})
        targets = ({"integration": integration}, {"capability": capability})
        if any(GrantFacts(**who, **what) in self.grants for who in subjects for what in targets):
            return True
        return self.groups[caller.group_id] and not self.integrations[integration].restricted
