"""The approval policy as a caller meets it."""

from acl.rights.caller_lookup import Caller
from catalog.access.my_tools import load_readiness
from catalog.models import Capability
from tests.factories import GroupFactory, UserFactory, give


def asks_first(capability: Capability) -> bool:
    """Return True if a member of a group that has the tool is asked before each call."""
    group = GroupFactory.create()
    user = UserFactory.create(groups=[group])
    give(capability, group)
    return load_readiness(Caller(user.pk, group.pk), [capability.pk])[capability.pk].asks_first
