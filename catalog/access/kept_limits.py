"""Limits that outlive what they name, until a person lifts them or the thing is there again.

A rule that denies or asks first is not deleted with its integration or tool, and neither are a
tool's stricter access, its quotas, its flow rules and an integration's restriction and limit of
calls: whoever installs the thing again would do more than before. Django says of each deletion
where it began; only one that began with the thing keeps its limits. The database gives them back
(`KeptLimit`).
"""

from collections import Counter
from typing import Any

from django.apps import apps
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.utils import timezone

from acl.audit.recorder import record
from catalog.access.rules import write_rule
from catalog.formats.descriptors import JSONObject
from catalog.models import Capability, Integration, KeptLimit, Rule
from catalog.trust.stored_definition import descriptor_of_row, texts_of_descriptor
from catalog.trust.tool_list import parse_definition, serialize_definition

DENY, PROPOSE = Rule.Effect.DENY, Rule.Effect.PROPOSE
_KINDS = {DENY: "deny", PROPOSE: "propose"}
# Tables of another app, named and not imported, by the kind of what is kept of them.
KEPT_TABLES = {
    "quotas": "discovery.quota",
    "flow_rules": "discovery.flowrule",
    "call_limits": "discovery.calllimit",
}
_LIMITING_MODES = ("ask", "refuse")
_SUBJECTS = ("space", "user", "group")
_OF_ACCESS = {Capability.AIAccess.BLOCKED: DENY, Capability.AIAccess.PROPOSE: PROPOSE}


def keep_rule(*, instance: Rule, origin: Any = None, **_: object) -> None:
    """Keep a rule that limits, where what it is about is being deleted."""
    if _begins_with(origin) in (Capability, Integration) and instance.effect != Rule.Effect.ALLOW:
        row = _row_about(instance.capability or instance.integration)
        row.effect, row.created_at = instance.effect, instance.created_at
        row.space, row.user, row.group = instance.space, instance.user, instance.group
        _keep(row)


def keep_access(*, instance: Capability, origin: Any = None, **_: object) -> None:
    """Keep a tool's stricter access, where it or its integration is being deleted."""
    effect = _OF_ACCESS.get(Capability.AIAccess(instance.ai_access))
    if effect is not None and _begins_with(origin) in (Capability, Integration):
        row = _row_about(instance)
        row.effect, row.created_at = effect, timezone.now()
        _keep(row)


def keep_restriction(*, instance: Integration, **_: object) -> None:
    """Keep that an integration is restricted, where it is being deleted."""
    if instance.restricted and instance.owner_id is None:
        row = _row_about(instance)
        row.effect, row.created_at = DENY, timezone.now()
        _keep(row)


def keep_policy(*, sender: type[Model], instance: Any, origin: Any = None, **_: object) -> None:
    """Keep a row of `KEPT_TABLES` that limits, where what it is about is being deleted."""
    thing = getattr(instance, "capability", None) or getattr(instance, "integration", None)
    loosens = getattr(instance, "mode", "ask") not in _LIMITING_MODES
    if thing is None or loosens or _begins_with(origin) not in (Capability, Integration):
        return
    row = _row_about(thing)
    row.kind = next(kind for kind, of in KEPT_TABLES.items() if of == sender._meta.label_lower)
    row.created_at = getattr(instance, "created_at", None) or timezone.now()
    for name in _SUBJECTS:
        setattr(row, name, getattr(instance, name, None))
    besides = (*_SUBJECTS, "capability", "created_at")
    row.terms = {
        field.name: getattr(instance, field.name)
        for field in sender._meta.concrete_fields
        if not field.primary_key and field.name not in besides
    }
    _keep(row)


def keep_for(*, by: User | None, row: KeptLimit, integration: str, full_name: str) -> None:
    """Store a limit that waits for an integration, or a tool by its full name."""
    slug, _, action = full_name.partition("__")
    row.integration, row.action = (integration, "") if integration else (slug, action or full_name)
    row.full_name, row.created_at = full_name, timezone.now()
    names = ("effect", "space", "user", "group", "full_name", "kind", "terms")
    same = {name: getattr(row, name) for name in names}
    if not KeptLimit.objects.filter(**same, integration=row.integration).exists():
        _keep(row, by=by)


def list_kept() -> QuerySet[KeptLimit]:
    """Return the limits that wait, by what they name."""
    return KeptLimit.objects.select_related("space__group", "user", "group")


def list_kept_rules() -> QuerySet[KeptLimit]:
    """Return the rules that wait: neither settings of things nor quotas nor flow rules."""
    return list_kept().filter(kind="", space__isnull=False)


def list_kept_settings() -> QuerySet[KeptLimit]:
    """Return what waits of things' own settings, with flow rules and limits of calls."""
    settings = Q(kind="", space__isnull=True) | Q(kind__in=["flow_rules", "call_limits"])
    return list_kept().filter(settings)


def list_kept_quotas() -> QuerySet[KeptLimit]:
    """Return the quotas that wait for their tools."""
    return list_kept().filter(kind="quotas")


def kept_texts(integration: Integration) -> dict[str, JSONObject]:
    """Return the texts of an integration's tools whose limits wait, by their names."""
    rows = KeptLimit.objects.filter(integration=integration.slug).exclude(definition="")
    return {row.action: parse_definition(row.definition) for row in rows}


def count_kept(integration: Integration, action: str) -> dict[str, int]:
    """Return how many limits of a tool wait, by kind."""
    rows = KeptLimit.objects.filter(integration=integration.slug, action=action)
    return dict(Counter(_kind_of(row) for row in rows))


def give_kept(integration: Integration, action: str, *, to: Capability) -> None:
    """Give a tool the limits that wait for its old name, where they go on waiting."""
    for row in KeptLimit.objects.filter(integration=integration.slug, action=action):
        if row.kind:
            _give_policy(row, to)
            continue
        if row.effect is None:
            continue
        if row.space is not None:
            write_rule(
                space=row.space, effect=row.effect, capability=to, user=row.user, group=row.group
            )
            continue
        access = next(access for access, effect in _OF_ACCESS.items() if effect == row.effect)
        weaker = Capability.objects.filter(pk=to.pk).exclude(ai_access=Capability.AIAccess.BLOCKED)
        weaker.update(ai_access=access)


@transaction.atomic
def lift(*, by: User | None, limit: KeptLimit) -> None:
    """Delete a limit that waits: what comes back under its name is free of it."""
    target, details = str(limit), _details(limit)
    if KeptLimit.objects.filter(pk=limit.pk).delete()[0]:
        groups = [limit.space.group_id] if limit.space else None
        record(by=by, action="rule.lift", target=target, details=details, groups=groups)


def _give_policy(row: KeptLimit, to: Capability) -> None:
    """Give a tool a quota or a flow rule that waits for its old name, with what was used."""
    terms = dict(row.terms)
    if "former_names" in terms:
        terms["former_names"] = [*terms["former_names"], row.full_name]
    table = apps.get_model(KEPT_TABLES[row.kind])
    columns = {field.name for field in table._meta.concrete_fields}
    subject = {name: getattr(row, name) for name in _SUBJECTS if name in columns}
    policy = table(capability=to, **subject, **terms)
    table._default_manager.bulk_create([policy], ignore_conflicts=True)


def _kind_of(row: KeptLimit) -> str:
    if row.effect is None:
        return row.kind
    return "settings" if row.space is None else _KINDS[Rule.Effect(row.effect)]


def _begins_with(origin: Any) -> type[Model] | None:
    """Return the model of the row or query with which a deletion began."""
    if isinstance(origin, QuerySet):
        return origin.model
    return type(origin) if isinstance(origin, Model) else None


def _row_about(thing: Capability | Integration | None) -> KeptLimit:
    if isinstance(thing, Capability):
        texts = texts_of_descriptor(descriptor_of_row(thing))
        return KeptLimit(
            integration=thing.integration.slug,
            action=thing.action,
            full_name=thing.source_full_name,  # under which it would come back
            definition=serialize_definition(texts),
        )
    return KeptLimit(integration=thing.slug if thing else "")


def _keep(row: KeptLimit, *, by: User | None = None) -> None:
    _, is_new = KeptLimit.objects.get_or_create(
        integration=row.integration,
        action=row.action,
        effect=row.effect,
        space=row.space,
        user=row.user,
        group=row.group,
        kind=row.kind,
        terms=row.terms,
        defaults={
            "full_name": row.full_name,
            "definition": row.definition,
            "created_at": row.created_at,
        },
    )
    if is_new:
        record(by=by, action="rule.keep", target=str(row), details=_details(row))


def _details(row: KeptLimit) -> dict[str, object]:
    return {
        "space": str(row.space or ""),
        "effect": row.name,
        "target": row.target,
        "subject": str(row.user or row.group or "everyone"),
        **row.terms,
    }
