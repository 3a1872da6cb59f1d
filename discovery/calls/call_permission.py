"""Permission to make a call, and the tool's readiness, in one statement.

Both are checked when a call is requested and again before it is sent.
"""

from functools import cache

from django.contrib.auth.models import User

from acl.actor.request_context import current_chain
from acl.delegation import acts_for_others
from acl.platform.prepared_statements import columns_of, made, rows_of
from acl.rights.caller import Caller
from acl.rights.rights_statement import rights_parameters, rights_sql
from catalog.models import Capability, Integration
from catalog.querysets import TABLES
from catalog.readiness.facts import COLUMNS, facts_parameters, facts_sql, readiness_from
from catalog.servers.call_needs import CallNeeds, call_needs_sql
from discovery.models import Call


@cache
def _usable_sql(*, to_be_sent: bool, united: bool) -> str:
    """Build the statement that reads a usable capability, its integration, and its call's needs."""
    # An expired key was valid when it asked. A revoked one may never have been its owner's, and a
    # deactivated actor may call nothing more: both are checked again.
    needs, join = call_needs_sql("i.id", "c.action") if to_be_sent else ("NULL", "")
    facts = facts_sql(mode="usable.mode", user="%(account)s::bigint")
    group = "usable.group_id" if united else "%(group)s::bigint"
    quotas = "NULL" if to_be_sent else _QUOTAS.format(group=group)
    read = f"{columns_of(Capability, 'c')}, {columns_of(Integration, 'i')}, {needs}"
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united)}
SELECT {facts}, {group}, {quotas}, {read}
FROM usable JOIN catalog_capability c ON c.id = usable.id
JOIN catalog_integration i ON i.id = c.integration_id {join}
WHERE c.full_name = %(name)s::text AND (%(key)s::bigint IS NULL OR EXISTS (
  SELECT 1 FROM acl_apikey k
  WHERE k.id = %(key)s::bigint AND k.revoked_at IS NULL AND (k.all_groups OR EXISTS (
    SELECT 1 FROM acl_apikey_groups g
    WHERE g.apikey_id = k.id AND g.group_id = ANY (%(groups)s::bigint[])))))
  AND (%(actor)s::bigint IS NULL OR EXISTS (
  SELECT 1 FROM auth_user a WHERE a.id = %(actor)s::bigint AND a.is_active))
"""  # noqa: S608 - the names of our own tables and columns


# Of a call in this group. Read here, since another statement would cost each call more.
_QUOTAS = """
ARRAY(SELECT q.id FROM discovery_quota q
  WHERE (q.user_id IS NULL OR q.user_id = %(user)s::bigint)
    AND (q.group_id IS NULL OR q.group_id = {group})
    AND (q.capability_id IS NULL OR q.capability_id = c.id)
  ORDER BY q.id)
"""


@cache
def _held_back_sql(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES, kept_out=True, united=united)}
SELECT 1 FROM usable JOIN catalog_capability c ON c.id = usable.id
WHERE c.full_name = %(name)s::text
"""  # noqa: S608 - the names of our own tables and columns


def waits_for_review(caller: Caller, *, full_name: str) -> bool:
    """Return True if the caller may use the tool but its changed definition awaits review."""
    return bool(
        rows_of(
            _held_back_sql(united=caller.is_united),
            {**rights_parameters(caller), "name": full_name},
        )
    )


def permitted(call: Call) -> Capability | None:
    """Return the capability with `readiness` and `needs` if the whole chain may use it now."""
    if call.acts_for_other and not may_act(call):
        return None
    capability = _read_capability(call.caller, call.full_name, call, to_be_sent=True)
    # The name may belong to another capability by now.
    return capability if capability and capability.pk == call.capability_id else None


def find_usable_capability(caller: Caller, *, full_name: str) -> Capability | None:
    """Return the usable capability of that name, with `readiness`, `given_in` and `quotas`, or
    None.

    `given_in` is the id of the group that grants it, `quotas` those of the quotas on its calls.
    """
    return _read_capability(caller, full_name, None, to_be_sent=False)


def may_act(call: Call) -> bool:
    """Return True if the call's actor may still act as another person."""
    actor = User.objects.filter(pk=call.actor_id or 0).first()
    return actor is not None and acts_for_others(actor)


def _read_capability(
    caller: Caller, full_name: str, call: Call | None, *, to_be_sent: bool
) -> Capability | None:
    acting = call.acts_for_other if call else current_chain().acts_for_other(caller.user_id)
    parameters = {
        **rights_parameters(caller),
        **facts_parameters(),
        "name": full_name,
        "key": call.key_id if call else None,
        "actor": call.actor_id if call else None,
        "account": None if acting else caller.user_id,
    }
    rows = rows_of(_usable_sql(to_be_sent=to_be_sent, united=caller.is_united), parameters)
    if not rows:
        return None
    own = len(COLUMNS) + 2
    [(*facts, group_id, quotas), values] = rows[0][:own], rows[0][own:]
    first, second = len(Capability._meta.concrete_fields), len(Integration._meta.concrete_fields)
    capability = made(Capability, values[:first])
    capability.integration = made(Integration, values[first : first + second])
    capability.readiness = readiness_from(facts)  # type: ignore[attr-defined]
    capability.given_in = group_id  # type: ignore[attr-defined]
    capability.quotas = quotas or []  # type: ignore[attr-defined]
    capability.needs = CallNeeds(*values[first + second :]) if to_be_sent else None  # type: ignore[attr-defined]
    return capability
