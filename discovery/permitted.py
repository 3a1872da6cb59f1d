"""Whether a call may be at this moment: rights are looked at when it is asked for, when it is
approved, and before it is sent."""

from functools import cache

from acl.callers import Caller
from acl.prepared import columns_of, made, rows_of
from acl.querysets import rights_parameters, rights_sql
from catalog.models import Capability, Integration
from catalog.needs import Needs, needs_sql
from catalog.querysets import TABLES
from discovery.models import Call


@cache
def _one(*, to_be_sent: bool) -> str:
    """The capability of a name with its integration, if it may be used, and with what its call
    needs. A key that has only come to its end was good when it asked; one that was revoked may
    never have been its owner's."""
    needs, join = needs_sql("i.id", "c.action") if to_be_sent else ("NULL", "")
    read = f"{columns_of(Capability, 'c')}, {columns_of(Integration, 'i')}, {needs}"
    return f"""
WITH RECURSIVE {rights_sql(TABLES)}
SELECT usable.mode = 1, {read}
FROM usable JOIN catalog_capability c ON c.id = usable.id
JOIN catalog_integration i ON i.id = c.integration_id {join}
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
    """The capability with `asks_first` and `needs`, if the caller and the key may use it now."""
    capability = _read(call.caller, call.full_name, call.key_prefix, to_be_sent=True)
    # Another one may have the name by now.
    return capability if capability and capability.pk == call.capability_id else None


def usable_one(caller: Caller, *, full_name: str) -> Capability | None:
    """The capability of that name with `asks_first`, if the caller may use it."""
    return _read(caller, full_name, "", to_be_sent=False)


def _read(
    caller: Caller, full_name: str, key_prefix: str, *, to_be_sent: bool
) -> Capability | None:
    parameters = {**rights_parameters(caller), "name": full_name, "key": key_prefix}
    rows = rows_of(_one(to_be_sent=to_be_sent), parameters)
    if not rows:
        return None
    [(asks_first, *values)] = rows
    first, second = len(Capability._meta.concrete_fields), len(Integration._meta.concrete_fields)
    capability = made(Capability, values[:first])
    capability.integration = made(Integration, values[first : first + second])
    capability.asks_first = asks_first  # type: ignore[attr-defined]
    capability.needs = Needs(*values[first + second :]) if to_be_sent else None  # type: ignore[attr-defined]
    return capability
