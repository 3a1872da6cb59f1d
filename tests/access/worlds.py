"""Writes a plain `World` into the database, and asks the database about it."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.db.models import Model
from django.utils import timezone

from acl.models import Application, GroupPolicy, Space
from acl.platform.database_connections import table_of
from acl.rights.caller_lookup import Caller
from acl.rights.holders import holders_sql
from acl.rights.statement import requestable_sql, rights_parameters
from catalog.access._explanation_steps import load_facts, resolve
from catalog.access.explanation import explain_many
from catalog.access.usable_ids import load_access_modes
from catalog.models import (
    Capability,
    CapabilityGroupPermission,
    CapabilityUserPermission,
    Integration,
    IntegrationGroupPermission,
    IntegrationUserPermission,
    Rule,
    RuntimeCapability,
)
from catalog.querysets import TABLES as RIGHTS_TABLES
from tests.oracle import (
    EFFECTS,
    CapabilityFacts,
    Effect,
    GrantFacts,
    IntegrationFacts,
    RuleFacts,
    World,
)

# By whether a grant is on an integration, and whether to a user.
TABLES: dict[tuple[bool, bool], type[Model]] = {
    (True, True): IntegrationUserPermission,
    (True, False): IntegrationGroupPermission,
    (False, True): CapabilityUserPermission,
    (False, False): CapabilityGroupPermission,
}
REVIEW = {True: "approved", False: "quarantined"}


def store(world: World) -> None:
    """Write all of it, with the primary keys that the world names."""
    User.objects.bulk_create(
        User(pk=pk, username=f"user-{pk}", is_active=active) for pk, active in world.users.items()
    )
    Group.objects.bulk_create(Group(pk=pk, name=f"group-{pk}") for pk in world.groups)
    GroupPolicy.objects.bulk_create(
        GroupPolicy(group_id=pk, open_default=is_open) for pk, is_open in world.groups.items()
    )
    User.groups.through.objects.bulk_create(
        User.groups.through(user_id=user, group_id=group) for user, group in world.members
    )
    Space.objects.bulk_create(
        Space(pk=pk, group_id=group, parent_id=parent, name=f"space {pk}", slug=f"space-{pk}")
        for pk, (group, parent) in world.spaces.items()
    )
    Application.objects.bulk_create(
        Application(pk=pk, name=f"application {pk}", integrations=sorted(allowed))
        for pk, allowed in world.applications.items()
    )
    Integration.objects.bulk_create(
        integration_row(pk, facts) for pk, facts in world.integrations.items()
    )
    Capability.objects.bulk_create(
        capability_row(pk, facts) for pk, facts in world.capabilities.items()
    )
    RuntimeCapability.objects.bulk_create(life_row(pk, world) for pk in world.capabilities)
    Rule.objects.bulk_create(rule_row(rule) for rule in world.rules)
    store_grants(world.grants)


def integration_row(pk: int, facts: IntegrationFacts) -> Integration:
    return Integration(
        pk=pk,
        slug=f"integration-{pk}",
        kind=Integration.Kind.MCP,
        title=f"Integration {pk}",
        enabled=facts.enabled,
        state=REVIEW[facts.approved],
        restricted=facts.restricted,
        requestable=facts.requestable,
        owner_id=facts.owner,
    )


def capability_row(pk: int, facts: CapabilityFacts) -> Capability:
    name = f"integration-{facts.integration}__action_{pk}"
    return Capability(
        pk=pk,
        integration_id=facts.integration,
        identifier=f"tool:{name}",
        full_name=name,
        kind=Capability.Kind.TOOL,
        action=f"action_{pk}",
        display_name=f"Action {pk}",
        description=f"Does the thing that is number {pk}.",
        category="other" if pk % 2 else "messaging",
        available=facts.available,
        state=REVIEW[facts.approved],
        ai_access=facts.ai_access,
        definition_hash=f"definition-{pk}",
        fingerprint=f"fingerprint-{pk}",
        tokens=10 + pk,
    )


def life_row(pk: int, world: World) -> RuntimeCapability:
    """Return a row that makes it a runtime capability, expired or not; no sweep has come yet."""
    facts = world.capabilities[pk]
    now = timezone.now()
    return RuntimeCapability(
        integration_id=facts.integration,
        name=f"action_{pk}",
        full_name=capability_row(pk, facts).full_name,
        group_id=min(world.groups),
        expires_at=now - timedelta(seconds=1) if facts.ended else now + timedelta(days=1),
    )


def rule_row(rule: RuleFacts) -> Rule:
    return Rule(
        space_id=rule.space,
        effect=rule.effect,
        user_id=rule.user,
        group_id=rule.group,
        integration_id=rule.integration,
        capability_id=rule.capability,
    )


def store_grants(grants: Iterable[GrantFacts]) -> None:
    """Write grants as rows of the four direct tables."""
    permissions = dict(Permission.objects.values_list("codename", "pk"))
    for grant in grants:
        on_integration = grant.integration is not None
        codename = "use_integration" if on_integration else "use_capability"
        row = {
            "content_object_id": grant.integration if on_integration else grant.capability,
            "permission_id": permissions[codename],
        }
        subject = {"user_id": grant.user} if grant.user is not None else {"group_id": grant.group}
        TABLES[on_integration, grant.user is not None]._default_manager.create(**subject, **row)


def usable(caller: Caller) -> dict[int, Effect]:
    """Return the database's answer in the oracle's form."""
    modes = load_access_modes(caller, None)
    assert modes.keys() == set(Capability.objects.usable_by(caller).values_list("pk", flat=True))
    return {pk: "propose" if mode == 1 else "allow" for pk, mode in modes.items()}


def requestable(caller: Caller) -> set[int]:
    """Return the capabilities that the database says the caller may ask for."""
    _, rows = table_of(REQUESTABLE[caller.is_united], rights_parameters(caller))
    return {row[0] for row in rows}


REQUESTABLE = {
    united: f"WITH RECURSIVE {requestable_sql(RIGHTS_TABLES, united=united)}"  # noqa: S608 - names of our own tables
    " SELECT id FROM requestable"
    for united in (False, True)
}


def explained(caller: Caller, capabilities: Iterable[int]) -> dict[int, Effect]:
    """Return Explain's answers, after checking that each names one thing that decides."""
    names = dict(Capability.objects.filter(pk__in=capabilities).values_list("full_name", "pk"))
    answers = explain_many(caller=caller, full_names=names)
    for answer in answers.values():
        deciding = [step for step in answer.steps if step.decides]
        assert [step.effect for step in deciding] == [answer.decision], answer
    return {names[name]: answer.decision for name, answer in answers.items()}


def decided(caller: Caller, capabilities: Iterable[int]) -> dict[int, Effect]:
    """Return what Python decides on the facts that the statement reads."""
    names = dict(Capability.objects.filter(pk__in=capabilities).values_list("full_name", "pk"))
    facts = load_facts(caller, list(names))
    return {names[name]: resolve(each).decision for name, each in facts.items()}


HOLDERS = f"WITH RECURSIVE {holders_sql(RIGHTS_TABLES)} SELECT * FROM holder"  # noqa: S608 - names of our own tables


def stored_holders(
    capability: int, application: int | None = None
) -> dict[tuple[int, int, int | None], Effect]:
    """Return the stored holders by user, group and space."""
    parameters: dict[str, Any] = {
        "capability": capability,
        "application": application,
        "unavailable": False,
        "kind": "",
    }
    columns, found = table_of(HOLDERS, parameters)  # prepared: planning takes most of its time
    rows = [dict(zip(columns, row, strict=True)) for row in found]
    return {
        (row["user_id"], row["group_id"], row["space_id"]): EFFECTS[row["mode"]] for row in rows
    }


def expected_holders(
    world: World, capability: int, application: int | None = None
) -> dict[tuple[int, int, int | None], Effect]:
    """The same by the oracle, asked one by one: in roots and where a rule about it stands."""
    integration = world.capabilities[capability].integration
    ruled = {
        rule.space
        for rule in world.rules
        if rule.capability == capability or rule.integration == integration
    }
    found: dict[tuple[int, int, int | None], Effect] = {}
    for user, group in world.members:
        own = {pk for pk, facts in world.spaces.items() if facts[0] == group}
        roots: list[int | None] = [pk for pk in own if world.spaces[pk][1] is None]
        for space in {*(own & ruled), *(roots or [None])}:
            asker = Caller(user, group, space, application_id=application)
            answer = world.answer(asker, capability)
            if answer != "no":
                found[user, group, space] = answer
    return found
