"""Merging groups: members, grants and rules of one go to another, and the one is deleted."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.models import Invitation
from acl.people.groups import GroupDeletion, GroupRefused, delete_group, deletion_of
from acl.people.people import PeopleRefused, add_to_group
from acl.rights.caller_lookup import Caller
from acl.rights.delegation import DelegationRefused, check_groups
from catalog.access.change_preview import (
    MAX_CLASSES,
    Impact,
    MemberClass,
    Preview,
    find_differences,
    find_member_classes,
    sum_up,
)
from catalog.access.grants import grant, write_grant
from catalog.access.rules import add_rule, remove_rule, write_rule
from catalog.access.usable_ids import load_access_modes
from catalog.models import (
    Capability,
    CapabilityGroupPermission,
    Integration,
    IntegrationGroupPermission,
    Rule,
)


@dataclass(frozen=True, slots=True)
class MergePreview:
    """The effects of merging a group into another.

    `joining` is the number of active members who are not in the other group yet, `grants` and
    `rules` how many go over. `effects` says who may then use more or less: in the group that stays,
    compared with what they may use in both now, and where a rule for the one names the other.
    `going` is deleted with the one.
    """

    joining: int
    grants: int
    rules: int
    effects: Preview
    going: GroupDeletion


def preview_merge(*, source: Group, into: Group) -> MergePreview:
    """Merge, compare everyone's rights, and roll back."""
    _check_different(source, into)
    old = set(into.user_set.values_list("pk", flat=True))
    # The class of each member in the source's root space.
    roots = [members for members in _all_of(source.pk, source, into) if _is_root(members)]
    at_source = {user: number for number, members in enumerate(roots) for user in members.users}
    with transaction.atomic():
        # Write what goes over, without audit entries. The one stays: its rights are not asked.
        into.user_set.add(*source.user_set.all())
        for target in _granted(source):
            write_grant(target=target, user=None, group=into)
        for rule in _rules_for(source):
            write_rule(**_fields_for(rule, into))
            rule.delete()
        people = [*_members_after(source, into, old, at_source), *_elsewhere(source, into)]
        classes = people[:MAX_CLASSES]
        after = [load_access_modes(members.caller, None) for members in classes]
        transaction.set_rollback(True)
    before = [_modes_before(members, source, into, old, at_source) for members in classes]
    not_evaluated = sum(len(members.users) for members in people[MAX_CLASSES:])
    active = source.user_set.filter(is_active=True)
    return MergePreview(
        joining=active.exclude(pk__in=old).count(),
        grants=len(_granted(source)),
        rules=_rules_for(source).count(),
        effects=sum_up(find_differences(classes, before, after), not_evaluated),
        going=deletion_of(source),
    )


@transaction.atomic
def merge_groups(*, by: User, source: Group, into: Group) -> None:
    """Merge a group into another, and delete it.

    Its spaces with their rules, its default, history and keys do not go over. Raises GroupRefused
    where one of the groups, or a member, has more power than the admin.
    """
    list(Group.objects.select_for_update().filter(pk__in=[source.pk, into.pk]).order_by("pk"))
    _check_different(source, into)
    people, targets, rules = list(source.user_set.all()), _granted(source), _rules_for(source)
    details = {"group": source.name, "members": len(people), "grants": len(targets),
               "rules": rules.count()}  # fmt: skip
    try:
        check_groups(by, [source, into])
        for person in people:
            add_to_group(by=by, person=person, group=into)
    except (DelegationRefused, PeopleRefused) as refused:
        raise GroupRefused(str(refused)) from refused
    for target in targets:
        grant(by=by, target=target, group=into)
    for rule in rules:
        add_rule(by=by, **_fields_for(rule, into))
        remove_rule(by=by, rule=rule)
    for invitation in Invitation.objects.filter(groups=source, accepted_at=None):
        invitation.groups.add(into)
    record(by=by, action="group.merged", target=f"group {into}", details=details)
    delete_group(by=by, group=source)


def _check_different(source: Group, into: Group) -> None:
    if source.pk == into.pk:
        raise GroupRefused(_("Choose another group to merge it into."))


def _granted(group: Group) -> list[Integration | Capability]:
    tables = (IntegrationGroupPermission, CapabilityGroupPermission)
    rows = (table._default_manager.filter(group=group).order_by("pk") for table in tables)
    return [
        row.content_object for queryset in rows for row in queryset.select_related("content_object")
    ]


def _rules_for(group: Group) -> QuerySet[Rule]:
    """Return the rules for the group's members that stay: those in spaces of other groups."""
    rules = Rule.objects.filter(group=group).exclude(space__group=group)
    return rules.select_related("space", "integration", "capability").order_by("pk")


def _fields_for(rule: Rule, group: Group) -> dict[str, Any]:
    return {
        "space": rule.space,
        "effect": Rule.Effect(rule.effect),
        "integration": rule.integration,
        "capability": rule.capability,
        "user": rule.user,
        "group": group,
    }


def _all_of(group: int, source: Group, into: Group) -> Iterator[MemberClass]:
    reach = Impact(users=None, spaces=None, named_groups={source.pk, into.pk})
    return find_member_classes(group, reach, None)


def _is_root(members: MemberClass) -> bool:
    return members.space is None or members.space.parent_id is None


def _members_after(
    source: Group, into: Group, old: set[int], at_source: dict[int, int]
) -> Iterator[MemberClass]:
    """Yield the classes of the group that stays, apart by what they had before.

    Those who join are asked about its root: spaces below it answer like it, or by their own rules.
    """
    for members in _all_of(into.pk, source, into):
        parts: dict[tuple[bool, int | None], list[int]] = defaultdict(list)
        for user in members.users:
            if user in old or _is_root(members):
                parts[user in old, at_source.get(user)].append(user)
        for users in parts.values():
            yield MemberClass(members.space, into.pk, tuple(users))


def _elsewhere(source: Group, into: Group) -> Iterator[MemberClass]:
    """Yield the classes of other groups, in whose spaces rules now name the group that stays."""
    rules = Rule.objects.filter(group=into).exclude(space__group__in=[source, into])
    for group in sorted(set(rules.values_list("space__group_id", flat=True))):
        yield from _all_of(group, source, into)


def _modes_before(
    members: MemberClass, source: Group, into: Group, old: set[int], at_source: dict[int, int]
) -> dict[int, int]:
    """Return what they may use now: in the root of the one that stays, with what both give."""
    user, joins = members.users[0], members.group == into.pk and members.users[0] not in old
    had = {} if joins else load_access_modes(members.caller, None)
    if members.group != into.pk or not _is_root(members) or user not in at_source:
        return had
    source_modes = load_access_modes(Caller(user, source.pk), None)
    return {
        pk: max(had.get(pk, 0), source_modes.get(pk, 0)) for pk in had.keys() | source_modes.keys()
    }
