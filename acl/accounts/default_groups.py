"""Groups that every new person joins, by whatever door they come."""

from django.contrib.auth.models import Group, User
from django.db import transaction

from acl.accounts.groups import GroupRefused
from acl.audit.recorder import record
from acl.delegation import Actor, DelegationRefused, check_groups, check_installation
from acl.models import GroupPolicy


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
        record(by=None, action="person.joined_group", target=person.username, details=details)
