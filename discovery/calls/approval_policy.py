"""Approval policy: which calls need a person's approval."""

from django.conf import settings

from catalog.formats.side_effects import side_effect_from_verbs
from catalog.models import Capability, Integration

# How much harm a side effect can do, and the least harm that needs approval (PEGBOARD_APPROVE).
_RANKS = {"read": 0, "write": 1, "delete": 2}
_NEEDS_APPROVAL_FROM = {"propose": 3, "delete": 2, "write": 1, "all": 0}


def waits_for_person(capability: Capability, *, asks_first: bool) -> bool:
    """Return True if the rights or PEGBOARD_APPROVE require approval."""
    return (
        asks_first
        or _RANKS[effective_side_effect(capability)]
        >= _NEEDS_APPROVAL_FROM[settings.PEGBOARD_APPROVE]
    )


def effective_side_effect(capability: Capability) -> str:
    """Return the side effect to assume for the policy: untrusted servers cannot declare "read"."""
    integration = capability.integration
    if integration.kind != Integration.Kind.MCP or _is_trusted(integration.slug):
        return capability.side_effect
    if side_effect_from_verbs(capability.action) == "delete":
        return "delete"
    return "write" if capability.side_effect == "read" else capability.side_effect


def _is_trusted(slug: str) -> bool:
    trusted = settings.PEGBOARD_TRUSTED_SERVERS
    return slug in trusted or "*" in trusted
