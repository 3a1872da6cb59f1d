"""Scope of a group: the integrations and capabilities that it was given or has by default.

An admin of one group (a key) may say how the group's people use what the group has. Giving it more
is for admins of the whole deployment; to a group, the rest of the catalogue does not exist.
"""

from functools import reduce
from operator import or_

from django.db.models import Exists, OuterRef, Q, QuerySet

from acl.models import GroupPolicy
from acl.rights.decision import RULE_KINDS, RuleKind, beats
from acl.rights.precedence_sql import NO
from catalog.models import (
    Capability,
    CapabilityGroupPermission,
    Integration,
    IntegrationGroupPermission,
    Rule,
)


def integrations_of(group: int) -> QuerySet[Integration]:
    """Return the integrations that the group has as a whole."""
    grants = IntegrationGroupPermission.objects.filter(
        group=group, permission__codename="use_integration"
    )
    is_open = Exists(GroupPolicy.objects.filter(group=group, open_default=True))
    return Integration.objects.filter(
        Q(pk__in=grants.values("content_object")) | (Q(restricted=False) & is_open)
    )


def capabilities_of(group: int) -> QuerySet[Capability]:
    """Return the capabilities of its integrations, and those given one by one."""
    grants = CapabilityGroupPermission.objects.filter(
        group=group, permission__codename="use_capability"
    )
    return Capability.objects.filter(
        Q(integration__in=integrations_of(group)) | Q(pk__in=grants.values("content_object"))
    )


def denied_to_all(group: int) -> Q:
    """Match capabilities that a rule in the group's root space denies to every member there."""
    root_rules = Rule.objects.filter(
        Q(capability=OuterRef("pk")) | Q(integration=OuterRef("integration")),
        space__group=group,
        space__parent=None,
    )
    denied = Q(Exists(root_rules.filter(Q(group=None) | Q(group=group), user=None, effect=NO)))
    exceptions = [_of_kind(kind) for kind in RULE_KINDS if _beats_a_deny_for_many(kind)]
    return denied & ~Q(Exists(root_rules.filter(reduce(or_, exceptions)))) if exceptions else denied


def _beats_a_deny_for_many(kind: RuleKind) -> bool:
    """Return True if such a rule could give back to some what another in its space denies."""
    return kind.effect != NO and any(
        beats(kind, deny)
        for deny in RULE_KINDS
        if deny.effect == NO and deny.subject_kind != "user"
    )


def _of_kind(kind: RuleKind) -> Q:
    return Q(
        effect=kind.effect,
        user__isnull=kind.subject_kind != "user",
        group__isnull=kind.subject_kind != "group",
        capability__isnull=kind.target_kind != "capability",
    )
