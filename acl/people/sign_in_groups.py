"""Groups that a sign-in with the provider gives: pairs of a value of its claim and a group.

Those of PEGBOARD_OIDC_GROUPS name groups, which need not exist; those of the page People are rows.
Both are read at each sign-in, so that a change is in force at the next one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.models import SignInGroup
from acl.people.groups import GroupRefused
from acl.rights.delegation import Actor, DelegationRefused, check_groups, check_installation


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
