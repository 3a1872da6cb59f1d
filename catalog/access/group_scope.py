"""Scope of a group: the integrations and capabilities that it was given or has by default.

An admin of one group (a key) may say how the group's people use what the group has. Giving it more
is for admins of the whole deployment; to a group, the rest of the catalogue does not exist.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache, reduce
from operator import or_

from django.db.models import Exists, OuterRef, Q, QuerySet

from acl.actor import CredentialKind, current_chain
from acl.models import GroupPolicy
from acl.platform.database_connections import rows_of
from acl.rights.caller_lookup import Caller
from acl.rights.precedence import NO, RULE_KINDS, RuleKind, beats
from acl.rights.statement import rights_parameters, rights_sql
from catalog.models import (
    Capability,
    CapabilityGroupPermission,
    Integration,
    IntegrationGroupPermission,
    Rule,
)
from catalog.querysets import TABLES


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
    # True if such a rule could give back to some what another in its space denies.
    exceptions = [
        _of_kind(kind)
        for kind in RULE_KINDS
        if kind.effect != NO
        and any(
            beats(kind, deny)
            for deny in RULE_KINDS
            if deny.effect == NO and deny.subject_kind != "user"
        )
    ]
    return denied & ~Q(Exists(root_rules.filter(reduce(or_, exceptions)))) if exceptions else denied


def _of_kind(kind: RuleKind) -> Q:
    return Q(
        effect=kind.effect,
        user__isnull=kind.subject_kind != "user",
        group__isnull=kind.subject_kind != "group",
        capability__isnull=kind.target_kind != "capability",
    )


# Availability in groups: in how many of the groups that a caller knows they may use a tool.


def count_groups(caller: Caller, only: Iterable[int]) -> dict[int, int]:
    """Return the number of groups by primary key, by two statements.

    Only groups that the caller may know of count: their own, and of these only those that the key
    of the request works in. A right within one space counts for its group.
    """
    keys = list(only)
    credential = current_chain().credential
    key = credential.id if credential.kind == CredentialKind.KEY else None
    groups = [pk for (pk,) in rows_of(_KNOWN, {"user": caller.user_id, "key": key})]
    if not groups:
        return dict.fromkeys(keys, 1)
    everywhere = replace(caller, group_id=groups[0], space_id=None, other_groups=tuple(groups[1:]))
    parameters = {**rights_parameters(everywhere), "only": keys}
    counts = dict(rows_of(_count_sql(), parameters))
    return {pk: counts.get(pk, 1) for pk in keys}


@cache
def _count_sql() -> str:
    return f"""
WITH RECURSIVE asked (id) AS MATERIALIZED (SELECT unnest(%(only)s::bigint[])),
{rights_sql(TABLES, united=True, among=True)}
SELECT id, groups FROM usable
"""  # noqa: S608 - the names of our own tables and columns


_KNOWN = """
SELECT mine.group_id FROM auth_user_groups mine
WHERE mine.user_id = %(user)s::bigint AND (%(key)s::bigint IS NULL OR EXISTS (
  SELECT FROM acl_apikey k WHERE k.id = %(key)s::bigint AND (k.all_groups OR EXISTS (
    SELECT FROM acl_apikey_groups g WHERE g.apikey_id = k.id AND g.group_id = mine.group_id))))
ORDER BY mine.group_id
"""
