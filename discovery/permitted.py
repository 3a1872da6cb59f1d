"""Whether a call may be at this moment: rights are looked at when it is asked for, when it is
approved, and before it is sent."""

from functools import cache

from acl.callers import Caller
from acl.querysets import rights_parameters, rights_sql
from catalog.models import Capability, Integration
from catalog.querysets import TABLES
from discovery.models import Call
from discovery.prepared import columns_of, made, rows_of


@cache
def _one() -> str:
    """The capability of a name with its integration, if it may be used. A key that has only come to
    its end was good when it asked; one that was revoked may never have been its owner's."""
    read = f"{columns_of(Capability, 'c')}, {columns_of(Integration, 'i')}"
    return f"""
WITH RECURSIVE {rights_sql(TABLES)}
SELECT usable.mode = 1, {read}
FROM usable JOIN catalog_capability c ON c.id = usable.id
JOIN catalog_integration i ON i.id = c.integration_id
WHERE c.full_name = %(name)s::text AND (%(key)s::text = '' OR EXISTS (
  SELECT 1 FROM acl_apikey k
  WHERE k.prefix = %(key)s::text AND k.group_id = %(group)s::bigint AND k.revoked_at IS NULL))
"""  # noqa: S608 - the names of our own tables and columns


@cache
def _kept_out() -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES, kept_out=True)}
SELECT 1 FROM usable JOIN catalog_capability c ON c.id = usable.id
WHERE c.full_name = %(name)s::text
"""  # noqa: S608 - the names of our own tables and columns


def waits_for_review(caller: Caller, *, full_name: str) -> bool:
    """Whether the caller could use it, had its definition not changed since it was approved."""
    return bool(rows_of(_kept_out(), {**rights_parameters(caller), "name": full_name}))


def permitted(call: Call) -> Capability | None:
    """The capability with `asks_first`, if the caller and the key may use it now."""
    capability = usable_one(call.caller, full_name=call.full_name, key_prefix=call.key_prefix)
    # Another one may have the name by now.
    return capability if capability and capability.pk == call.capability_id else None


def usable_one(caller: Caller, *, full_name: str, key_prefix: str = "") -> Capability | None:
    """The capability of that name with `asks_first`, if the caller may use it."""
    parameters = {**rights_parameters(caller), "name": full_name, "key": key_prefix}
    rows = rows_of(_one(), parameters)
    if not rows:
        return None
    [(asks_first, *values)] = rows
    split = len(Capability._meta.concrete_fields)
    capability = made(Capability, values[:split])
    capability.integration = made(Integration, values[split:])
    capability.asks_first = asks_first  # type: ignore[attr-defined]
    return capability
