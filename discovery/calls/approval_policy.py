"""Which calls wait for a person."""

from django.conf import settings

from catalog.formats.side_effects import side_effect_from_verbs
from catalog.models import Capability, Integration

_RANKS = {"read": 0, "write": 1, "delete": 2}
# What waits at the least, by PEGBOARD_APPROVE.
_FROM = {"propose": 3, "delete": 2, "write": 1, "all": 0}


def waits_for_person(capability: Capability, *, asks_first: bool) -> bool:
    """Whether rights ask first, or the deployment does for what such a tool does."""
    return asks_first or _RANKS[counted_as(capability)] >= _FROM[settings.PEGBOARD_APPROVE]


def counted_as(capability: Capability) -> str:
    """What it does as far as we believe it: a server's own word makes nothing harmless."""
    integration = capability.integration
    if integration.kind != Integration.Kind.MCP or _is_believed(integration.slug):
        return capability.side_effect
    if side_effect_from_verbs(capability.action) == "delete":
        return "delete"
    return "write" if capability.side_effect == "read" else capability.side_effect


def _is_believed(slug: str) -> bool:
    trusted = settings.PEGBOARD_TRUSTED_SERVERS
    return slug in trusted or "*" in trusted
