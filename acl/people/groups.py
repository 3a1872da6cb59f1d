"""Groups: creating, renaming and deleting them, and those that a sign-in gives.

A group's root space and policy are made by the database's trigger at the latest.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import CASCADE, ManyToOneRel, QuerySet
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.keys.lifecycle import revoke_key
from acl.models import ApiKey, GroupPolicy, SignInGroup
from acl.people.spaces import ensure_root, set_open
from acl.rights.delegation import Actor, DelegationRefused, check_groups, check_installation
from acl.visible_text.pieces import check_plain_name

LONGEST_NAME = 150


class GroupRefused(Exception):
    """Refused change of a group: the name is unusable, or the group has more power than the
    admin."""


@dataclass(frozen=True, slots=True)
class GroupDeletion:
    """Effects of deleting a group.

    `without_group` are members who are in no other one, `keys` those that work in no other one, and
    `rows` the numbers of everything stored about the group, by the table's label, as "acl.space".
    """

    members: int
    without_group: int
    keys: tuple[ApiKey, ...]
    rows: dict[str, int]


@transaction.atomic
def create_group(*, by: Actor, name: str, is_open: bool = False) -> Group:
    """Create a group without members. Unless it is open, they may use nothing yet."""
    check_installation(by)
    group = Group.objects.create(name=_checked(name))
    ensure_root(group)
    record(by=by, action="group.created", target=f"group {group}")
    set_open(by=by, group=group, is_open=is_open)
    return group


@transaction.atomic
def rename_group(*, by: Actor, group: Group, name: str) -> Group:
    """Rename a group. Requests and sign-in providers that use the old name no longer find it."""
    locked = Group.objects.select_for_update(no_key=True).get(pk=group.pk)
    before, locked.name = locked.name, _checked(name, of=locked)
    if before != locked.name:
        check_installation(by)
        _check_power(by, locked)  # a provider's mapping adds people to the group of a name
        locked.save(update_fields=["name"])
        details = {"before": before, "after": locked.name}
        record(by=by, action="group.renamed", target=f"group {locked}", details=details)
    return locked


@transaction.atomic
def delete_group(*, by: Actor, group: Group) -> None:
    """Delete a group with everything that is only in it, and revoke the keys of this group alone.

    Members stay, and so do their other groups.
    """
    locked = Group.objects.select_for_update().get(pk=group.pk)
    check_installation(by)
    _check_power(by, locked)
    going = deletion_of(locked)
    for key in going.keys:
        revoke_key(by=by, key=key)
    details: dict[str, Any] = {"members": going.members, **going.rows}
    record(by=by, action="group.deleted", target=f"group {locked}", details=details)
    locked.delete()


def _check_power(by: Actor, group: Group) -> None:
    try:
        check_groups(by, [group])
    except DelegationRefused as refused:
        raise GroupRefused(str(refused)) from refused


def deletion_of(group: Group) -> GroupDeletion:
    """Return what goes with the group if it is deleted."""
    members = User.objects.filter(groups=group, is_active=True)
    in_others = User.objects.filter(groups__in=Group.objects.exclude(pk=group.pk))
    others = ApiKey.objects.filter(groups__in=Group.objects.exclude(pk=group.pk))
    keys = ApiKey.objects.filter(groups=group, revoked_at=None, all_groups=False)
    return GroupDeletion(
        members=members.count(),
        without_group=members.exclude(pk__in=in_others.values("pk")).count(),
        keys=tuple(keys.exclude(pk__in=others.values("pk")).order_by("name", "pk")),
        rows=dict(_rows_about(group)),
    )


def is_group_name_taken(name: str, *, besides: Group | None = None) -> bool:
    """Return True if another group has the name, in any case."""
    others = Group.objects.exclude(pk=besides.pk) if besides else Group.objects.all()
    return others.filter(name__iexact=" ".join(name.split())).exists()


def _rows_about(group: Group) -> Iterable[tuple[str, int]]:
    """Count the rows of each table that the database deletes with the group."""
    for relation in group._meta.get_fields(include_hidden=True):  # those without a name, too
        if not isinstance(relation, ManyToOneRel) or relation.on_delete is not CASCADE:
            continue
        table = relation.related_model
        if relation.one_to_one or isinstance(table, str):
            continue
        number = table._default_manager.filter(**{relation.field.name: group}).count()
        if number and not table._meta.auto_created:  # no memberships and the like
            yield table._meta.label_lower, number


def _checked(name: str, *, of: Group | None = None) -> str:
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME:
        raise GroupRefused(
            _("Enter a name of at most %(number)s characters.") % {"number": LONGEST_NAME}
        )
    try:
        check_plain_name(name)
    except ValidationError as problem:
        raise GroupRefused(str(problem.message)) from problem
    if is_group_name_taken(name, besides=of):
        raise GroupRefused(_("There is already a group with this name."))
    return name


# Groups that every new person joins, by whatever door they come.


@transaction.atomic
def set_joined_by_default(*, by: Actor, group: Group, joined: bool) -> bool:
    """Set whether new people join the group; False if nothing changes.

    Raises GroupRefused if the group has more power than the admin: they could not add a person
    either.
    """
    policy, _ = GroupPolicy.objects.select_for_update().get_or_create(group=group)
    if policy.joined_by_default == joined:
        return False
    check_installation(by)
    if joined:
        try:
            check_groups(by, [group])
        except DelegationRefused as refused:
            raise GroupRefused(str(refused)) from refused
    policy.joined_by_default = joined
    policy.save(update_fields=["joined_by_default"])
    action = "group.joined_by_default" if joined else "group.not_joined_by_default"
    record(by=by, action=action, target=f"group {group}")
    return True


@transaction.atomic
def join_default_groups(*, person: User) -> None:
    """Add a new person to the groups that everyone joins. Programs join none."""
    groups = Group.objects.filter(policy__joined_by_default=True)
    missing = groups.exclude(pk__in=person.groups.values("pk")).order_by("name", "pk")
    for group in missing:
        person.groups.add(group)
        details = {"group": group.name, "by_default": True}
        record(
            by=None, action="person.joined_group", target=person.username, details=details,
            groups=[group.pk],
        )  # fmt: skip


# Groups that a sign-in with the provider gives: pairs of a value of its claim and a group. Those
# of PEGBOARD_OIDC_GROUPS name groups, which need not exist; those of the page People are rows. Both
# are read at each sign-in, so that a change is in force at the next one.


@dataclass(frozen=True, slots=True)
class MappedGroup:
    """Pair of a claim's value and the group that it gives; without a key it is the setting's."""

    value: str
    group: str
    exists: bool = True
    pk: int | None = None


def stored_pairs() -> QuerySet[SignInGroup]:
    """Return the pairs of the page, which are also those of a configuration file."""
    return SignInGroup.objects.select_related("group").order_by("value", "group__name")


def list_mapped_groups() -> list[MappedGroup]:
    """Return the pairs of the page, and those of the setting with whether their group exists."""
    rows = stored_pairs()
    names = {group for _value, group in settings.PEGBOARD_OIDC_GROUPS}
    present = set(Group.objects.filter(name__in=names).values_list("name", flat=True))
    return [
        *(MappedGroup(row.value, row.group.name, pk=row.pk) for row in rows),
        *(
            MappedGroup(value, name, exists=name in present)
            for value, name in settings.PEGBOARD_OIDC_GROUPS
        ),
    ]


def groups_for(values: Iterable[str]) -> tuple[set[str], set[str], set[str]]:
    """Return the names of groups that these values give, of all mapped groups, and of missing."""
    pairs, claimed = list_mapped_groups(), set(values)
    granted = {pair.group for pair in pairs if pair.value in claimed and pair.exists}
    missing = {pair.group for pair in pairs if pair.value in claimed and not pair.exists}
    return granted, {pair.group for pair in pairs if pair.exists}, missing


@transaction.atomic
def map_group(*, by: Actor, value: str, group: Group) -> SignInGroup:
    """Add a pair: the next sign-in with this value of the claim gives the group.

    Raises GroupRefused if the pair exists, or if the group has more power than the admin.
    """
    check_installation(by)
    try:
        check_groups(by, [group])
        with transaction.atomic():
            row = SignInGroup.objects.create(value=value, group=group)
    except DelegationRefused as refused:
        raise GroupRefused(str(refused)) from refused
    except IntegrityError:
        words = {"value": value, "group": group.name}
        raise GroupRefused(_("%(value)s gives %(group)s already.") % words) from None
    record(by=by, action="sign_in_group.added", target=f"group {group}", details={"value": value})
    return row


@transaction.atomic
def unmap_group(*, by: Actor, row: SignInGroup) -> None:
    """Remove a pair: sign-ins neither give nor take the group by this value any more."""
    check_installation(by)
    try:
        check_groups(by, [row.group])
    except DelegationRefused as refused:
        raise GroupRefused(str(refused)) from refused
    details = {"value": row.value}
    record(by=by, action="sign_in_group.removed", target=f"group {row.group}", details=details)
    row.delete()
