"""Permission to make a call, and the tool's readiness, in one statement.

Both are checked when a call is requested and again before it is sent.
"""

from functools import cache

from django.contrib.auth.models import User
from django.utils import translation

from acl.actor import current_chain
from acl.models import Application
from acl.models.api_key import in_force_sql
from acl.platform.database_connections import rows_of
from acl.rights.caller_lookup import Caller
from acl.rights.delegation import acts_for_others
from acl.rights.statement import rights_parameters, rights_sql
from catalog.access.my_tools import row_columns, row_from
from catalog.models import Capability, Integration, Secret
from catalog.querysets import TABLES
from catalog.readiness.obstacles import Obstacle
from catalog.readiness.readiness import (
    COLUMNS,
    ToolReadiness,
    facts_parameters,
    facts_sql,
    readiness_from,
)
from catalog.servers.call_needs import CallNeeds, call_needs_sql
from catalog.servers.client.server_problems import Reason
from discovery.calls.state import DISCONNECTED, NOBODY_EXECUTES, NOT_THERE
from discovery.models import Call


@cache
def _usable_sql(*, to_be_sent: bool, united: bool, apps: bool) -> str:
    """Build the statement that reads a usable capability, its integration, and its call's needs."""
    # A key that ended meanwhile, and a deactivated actor, call nothing more.
    needs, join = call_needs_sql("i.id", "c.action") if to_be_sent else ("NULL", "")
    facts = facts_sql(mode="usable.mode", user="%(account)s::bigint")
    group = "usable.group_id" if united else "%(group)s::bigint"
    quotas = "NULL, NULL, NULL" if to_be_sent else _QUOTAS.format(group=group)
    columns = f"{row_columns()}, {needs}"
    return f"""
WITH RECURSIVE {_ASKED},
{rights_sql(TABLES, united=united, among=True, apps=apps)}
SELECT {facts}, {group}, {quotas}, {columns}
FROM usable JOIN catalog_capability c ON c.id = usable.id
JOIN catalog_integration i ON i.id = c.integration_id {join}
WHERE (%(key)s::bigint IS NULL OR
  {in_force_sql("%(key)s::bigint", "%(groups)s::bigint[]")})
  AND (%(actor)s::bigint IS NULL OR EXISTS (
  SELECT 1 FROM auth_user a WHERE a.id = %(actor)s::bigint AND a.is_active))
"""  # noqa: S608 - the names of our own tables and columns


# The one tool: the rights to all would cost ten times as much.
_ASKED = """asked (id) AS MATERIALIZED (
  SELECT id FROM catalog_capability WHERE full_name = %(name)s::text)"""
# Of a call in this group. Read here, since another statement would cost each call more.
_QUOTAS = """
ARRAY(SELECT q.id FROM discovery_quota q
  WHERE (q.user_id IS NULL OR q.user_id = %(user)s::bigint)
    AND (q.group_id IS NULL OR q.group_id = {group})
    AND (q.capability_id IS NULL OR q.capability_id = c.id)
  ORDER BY q.id),
(SELECT l.a_minute FROM discovery_calllimit l WHERE l.integration_id = i.id),
EXISTS (SELECT FROM acl_application a WHERE a.id = %(application)s::bigint
  AND COALESCE(a.calls_a_minute, a.calls_a_day, a.tokens_a_day) IS NOT NULL)
"""


@cache
def _held_back_sql(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {_ASKED},
{rights_sql(TABLES, kept_out=True, united=united, among=True)}
SELECT 1 FROM usable
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
    # Whether an app may call it was asked when the call was made.
    capability = _read_capability(call.caller, call.full_name, call, to_be_sent=True, apps=True)
    # The name may belong to another capability by now.
    return capability if capability and capability.pk == call.capability_id else None


def find_usable_capability(
    caller: Caller, *, full_name: str, apps: bool = False
) -> Capability | None:
    """Return the usable capability of that name, with `readiness`, `given_in`, `quotas`,
    `a_minute` and `application_limited`, or None.

    `given_in` is the id of the group that grants it, `quotas` those of the quotas on its calls, and
    `a_minute` the limit of its integration. `apps` adds what only a server's own app may call.
    """
    return _read_capability(caller, full_name, None, to_be_sent=False, apps=apps)


def may_act(call: Call) -> bool:
    """Return True if the call's actor may still act as another person."""
    actor = User.objects.filter(pk=call.actor_id or 0).first()
    return actor is not None and acts_for_others(actor)


def _read_capability(
    caller: Caller, full_name: str, call: Call | None, *, to_be_sent: bool, apps: bool
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
    statement = _usable_sql(to_be_sent=to_be_sent, united=caller.is_united, apps=apps)
    rows = rows_of(statement, parameters)
    if not rows:
        return None
    split = len(COLUMNS) + 4
    [(*facts, group_id, quotas, a_minute, limited), values] = rows[0][:split], rows[0][split:]
    width = len(Capability._meta.concrete_fields) + len(Integration._meta.concrete_fields)
    capability = row_from(values[:width])
    capability.readiness = readiness_from(facts)  # type: ignore[attr-defined]
    capability.given_in = group_id  # type: ignore[attr-defined]
    capability.quotas = quotas or []  # type: ignore[attr-defined]
    capability.a_minute = a_minute  # type: ignore[attr-defined]
    capability.application_limited = bool(limited)  # type: ignore[attr-defined]
    capability.needs = CallNeeds(*values[width:]) if to_be_sent else None  # type: ignore[attr-defined]
    return capability


# Failures of calls that an obstacle stops: the answer says what is missing.

_REASONS = {
    Obstacle.NOT_CONFIRMED: Reason.NOT_CONFIRMED,
    Obstacle.NOT_CONNECTED: DISCONNECTED,
    Obstacle.OWN_SECRET: Reason.SIGN_IN_NEEDED,
    Obstacle.SHARED_SECRET: Reason.SIGN_IN_NEEDED,
    Obstacle.OWN_ACCOUNT: Reason.SIGN_IN_NEEDED,
    Obstacle.SHARED_ACCOUNT: Reason.SIGN_IN_NEEDED,
    Obstacle.NOT_ALLOWED: Reason.NOT_ALLOWED,
    Obstacle.NOT_AVAILABLE: NOT_THERE,
}
_SECRETS = frozenset({Obstacle.OWN_SECRET, Obstacle.SHARED_SECRET})
_PERSONAL = frozenset({Obstacle.OWN_SECRET, Obstacle.OWN_ACCOUNT})


def failure_by_obstacle(call: Call, capability: Capability) -> tuple[str, str] | None:
    """Return the reason and message of a call that cannot be sent, or None if it can.

    A failing server is tried: it may have recovered. What is only described is refused where the
    application has said that it carries out no calls: else nobody would, and nobody be told.
    """
    if call.way == Call.Way.CLIENT and call.application_id is not None:
        refusing = Application.objects.filter(
            pk=call.application_id, defaults__client_executes=False
        )
        if refusing.exists():
            return NOBODY_EXECUTES, (
                f"{capability.full_name} is only described here, and this application carries out"
                " no calls. Nothing has been run."
            )
    readiness: ToolReadiness = capability.readiness  # type: ignore[attr-defined]
    obstacle = readiness.obstacle
    if obstacle in {Obstacle.NONE, Obstacle.FAILING}:
        return None
    if call.acts_for_other and obstacle in _PERSONAL:
        missing = _missing(capability, obstacle, None)
        return _REASONS[obstacle], _SHARED_ONLY.format(missing=missing)
    with translation.override("en"):  # stored, for readers of any language
        sentence = readiness.sentence
    names = f" ({_missing(capability, obstacle, call.user_id)})" if obstacle in _SECRETS else ""
    return _REASONS[obstacle], f"{sentence.rstrip('.')}{names}. Nothing has been run."


def _missing(capability: Capability, obstacle: Obstacle, user_id: int | None) -> str:
    if obstacle in _SECRETS:
        in_use = Secret.objects.for_use(capability.integration, user_id=user_id)
        return ", ".join(in_use.missing(capability.integration))
    return "a shared account"


_SHARED_ONLY = (
    "Calls on behalf of another person use shared accounts and secrets only. Missing: {missing}. "
    "Nothing has been run. An admin can set them, or the person can make the call themselves."
)
