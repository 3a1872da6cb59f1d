"""What a group may speak about by itself: what it was given, and what its openness gives it.

An admin of one group (a key) may say how the group's people use what the group has. Giving it more
is for admins of the whole deployment; to a group, the rest of the catalogue does not exist.
"""

from django.db.models import Exists, Q, QuerySet

from acl.models import GroupPolicy
from catalog.models import (
    Capability,
    CapabilityGroupPermission,
    Integration,
    IntegrationGroupPermission,
)


def integrations_of(group: int) -> QuerySet[Integration]:
    """The integrations that the group has as a whole."""
    given = IntegrationGroupPermission.objects.filter(
        group=group, permission__codename="use_integration"
    )
    is_open = Exists(GroupPolicy.objects.filter(group=group, open_default=True))
    return Integration.objects.filter(
        Q(pk__in=given.values("content_object")) | (Q(restricted=False) & is_open)
    )


def capabilities_of(group: int) -> QuerySet[Capability]:
    """Those of its integrations, and those that it was given one by one."""
    given = CapabilityGroupPermission.objects.filter(
        group=group, permission__codename="use_capability"
    )
    return Capability.objects.filter(
        Q(integration__in=integrations_of(group)) | Q(pk__in=given.values("content_object"))
    )
