"""Whether a call may be at this moment: rights are looked at when it is asked for, when it is
approved, and before it is sent."""

from acl.callers import Caller
from acl.querysets import rights_parameters, rights_sql
from catalog.models import Capability
from catalog.querysets import TABLES
from discovery.models import Call
from discovery.prepared import rows_of

# Prepared once on each connection: planned anew, it would cost more than everything else of a call.
# A key that has only come to its end was good when it asked; one that was revoked may never have
# been its owner's.
_ONE = f"""
WITH RECURSIVE {rights_sql(TABLES)}
SELECT c.id, usable.mode = 1 FROM usable JOIN catalog_capability c ON c.id = usable.id
WHERE c.full_name = %(name)s::text AND (%(key)s::text = '' OR EXISTS (
  SELECT 1 FROM acl_apikey k
  WHERE k.prefix = %(key)s::text AND k.group_id = %(group)s::bigint AND k.revoked_at IS NULL))
"""  # noqa: S608 - the names of our own tables


def permitted(call: Call) -> Capability | None:
    """The capability with `asks_first`, if the caller and the key may use it now."""
    capability = usable_one(call.caller, full_name=call.full_name, key_prefix=call.key_prefix)
    # Another one may have the name by now.
    return capability if capability and capability.pk == call.capability_id else None


def usable_one(caller: Caller, *, full_name: str, key_prefix: str = "") -> Capability | None:
    """The capability of that name with `asks_first`, if the caller may use it."""
    parameters = {**rights_parameters(caller), "name": full_name, "key": key_prefix}
    rows = rows_of(_ONE, parameters)
    if not rows:
        return None
    [(pk, asks_first)] = rows
    capability = Capability.objects.select_related("integration").filter(pk=pk).first()
    if capability is not None:
        capability.asks_first = asks_first  # type: ignore[attr-defined]
    return capability
