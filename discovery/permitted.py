"""Whether a call may be at this moment: rights are looked at when it is asked for, when it is
approved, and before it is sent."""

from acl.models import ApiKey
from catalog.models import Capability
from discovery.models import Call


def permitted(call: Call) -> Capability | None:
    """The capability with `asks_first`, if the caller and the key may use it now."""
    if call.key_prefix and not _key_is_good(call):
        return None
    usable = Capability.objects.usable_by(call.caller).filter(pk=call.capability_id or 0)
    return usable.with_access(call.caller).select_related("integration").first()


def _key_is_good(call: Call) -> bool:
    """One that has only come to its end was good when it asked; one that was revoked may never
    have been its owner's."""
    keys = ApiKey.objects.filter(prefix=call.key_prefix, group=call.group_id, revoked_at=None)
    return keys.exists()
