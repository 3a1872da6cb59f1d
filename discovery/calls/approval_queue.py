"""The approval queue: pending calls, the reasons for which they leave it, and its limit per person.

A call leaves when its user may no longer use the tool, when an account or key of its chain is gone,
or when the tool has changed. The sweeper removes such calls; lists and counts skip them already.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from acl.actor import CredentialKind
from acl.audit.recorder import record
from acl.models.api_key import in_force_sql
from acl.platform.database_connections import rows_of
from acl.rights.delegation.authority import ACT_FOR_OTHERS
from acl.rights.statement import rights_sql
from catalog.querysets import TABLES
from discovery.calls.state import LEFT_QUEUE, move, unexpired
from discovery.models import Call


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """A pending call, with the reason to leave the queue, or ""."""

    pk: UUID
    user_id: int
    actor_id: int | None
    key_id: int | None
    reason: str


def list_waiting(pks: Sequence[UUID] | None = None) -> list[WaitingCall]:
    """Return all pending calls, or those among `pks`, oldest first."""
    codename = ACT_FOR_OTHERS.partition(".")[2]
    parameters = {"pks": None if pks is None else list(pks), "acts": codename}
    rights = {"unavailable": True, "connected": False, "only_here": False, "kind": ""}
    return [WaitingCall(*row) for row in rows_of(_pending_sql(), {**parameters, **rights})]


def list_leaving(pks: Sequence[UUID] | None = None) -> list[WaitingCall]:
    """Return the pending calls that must leave the queue."""
    return [call for call in list_waiting(pks) if call.reason]


def withdraw_calls(pks: Sequence[UUID] | None = None) -> None:
    """Cancel the pending calls that must leave the queue, and record why."""
    for leaving in list_leaving(pks):
        _withdraw(leaving)


@transaction.atomic
def _withdraw(leaving: WaitingCall) -> None:
    call = Call.objects.select_related("user", "group").filter(pk=leaving.pk).first()
    if call is None or call.state != Call.State.WAITING:
        return
    message = (
        f"{LEFT_QUEUE[leaving.reason]} The call was removed from the queue. Nothing has been run."
    )
    if move(call, Call.State.CANCELLED, reason=leaving.reason, message=message):
        details = {"call": str(call.pk), "reason": leaving.reason}
        target = f"{call.full_name} for {call.user} in {call.group}"
        record(by=None, action="call.left_queue", target=target, details=details)


@cache
def _pending_sql() -> str:
    """Build the statement; the rights of each caller are computed once."""
    rights = rights_sql(TABLES, among=True, apps=True)
    for name in ("user", "group", "space", "application"):
        rights = rights.replace(f"%({name})s::bigint", f"asker.{name}_id")
    return f"""
WITH waiting AS MATERIALIZED (
  SELECT c.* FROM discovery_call c
  WHERE c.state = 'waiting_approval'
    AND (c.expires_at IS NULL OR c.expires_at > statement_timestamp())
    AND (%(pks)s::uuid[] IS NULL OR c.id = ANY (%(pks)s::uuid[]))
), asker AS MATERIALIZED (
  SELECT user_id, group_id, space_id, application_id, array_agg(DISTINCT capability_id) AS wanted
  FROM waiting GROUP BY user_id, group_id, space_id, application_id
), allowed AS MATERIALIZED (
  SELECT asker.user_id, asker.group_id, asker.space_id, asker.application_id, own.id
  FROM asker CROSS JOIN LATERAL (
    WITH RECURSIVE asked (id) AS MATERIALIZED (SELECT unnest(asker.wanted)),
    {rights} SELECT id FROM usable) own
)
SELECT w.id, w.user_id, w.actor_id, w.key_id, CASE
  WHEN NOT u.is_active THEN 'user_deactivated'
  WHEN NOT EXISTS (SELECT FROM auth_user_groups m
    WHERE m.user_id = w.user_id AND m.group_id = w.group_id) THEN 'left_group'
  WHEN w.actor_id IS NOT NULL AND NOT COALESCE(a.is_active, false) THEN 'actor_deactivated'
  WHEN w.credential = 'session' AND w.actor_id IS DISTINCT FROM w.user_id AND NOT COALESCE(
    a.is_staff AND (a.is_superuser OR EXISTS (
      SELECT FROM auth_permission p JOIN django_content_type t ON t.id = p.content_type_id
      WHERE t.app_label = 'acl' AND p.codename = %(acts)s::text AND (
        EXISTS (SELECT FROM auth_user_user_permissions o
          WHERE o.permission_id = p.id AND o.user_id = a.id)
        OR EXISTS (SELECT FROM auth_group_permissions g JOIN auth_user_groups m
          ON m.group_id = g.group_id WHERE g.permission_id = p.id AND m.user_id = a.id)))), false)
    THEN 'acting_right_lost'
  WHEN w.credential = 'key' AND NOT {in_force_sql("w.key_id", "ARRAY[w.group_id]")}
    THEN 'key_revoked'
  WHEN c.id IS NOT NULL AND c.definition_hash <> w.definition_hash THEN 'changed'
  WHEN NOT EXISTS (SELECT FROM allowed WHERE allowed.id = w.capability_id
    AND allowed.user_id = w.user_id AND allowed.group_id = w.group_id
    AND allowed.space_id IS NOT DISTINCT FROM w.space_id
    AND allowed.application_id IS NOT DISTINCT FROM w.application_id) THEN 'right_lost'
  ELSE '' END
FROM waiting w JOIN auth_user u ON u.id = w.user_id
LEFT JOIN auth_user a ON a.id = w.actor_id
LEFT JOIN catalog_capability c ON c.id = w.capability_id
ORDER BY w.created_at, w.id
"""  # noqa: S608 - the names of our own tables and columns


class TooManyWaitingError(Exception):
    """The person has as many pending calls as allowed."""

    def __init__(self, waiting: int, name: str) -> None:
        super().__init__(
            f"{name} already has {waiting} calls awaiting approval, which is the limit. Nothing "
            "has been run. Wait until some are decided, or cancel calls that are no longer needed."
        )


def lock_queue_of(call: Call) -> list[User]:
    """Lock and return the people whose limits apply, until the transaction ends.

    The lock makes concurrent calls count each other. A key acts for many users; only the user's
    limit applies then.
    """
    people = {call.user_id}
    if call.acts_for_other and call.actor_id is not None:
        people.add(call.actor_id)
    locked = User.objects.select_for_update(no_key=True).filter(pk__in=people).order_by("pk")
    return list(locked.only("username"))


def check_queue_limit(call: Call, people: list[User]) -> None:
    """Raise TooManyWaitingError if one of these locked users has reached the limit."""
    for person in people:
        own_calls = Q(user=person)
        if person.pk != call.user_id:
            own_calls = Q(actor=person, credential=CredentialKind.SESSION)
        waiting = Call.objects.filter(own_calls, unexpired(), state=Call.State.WAITING).count()
        if waiting >= settings.PEGBOARD_MAX_WAITING_CALLS:
            raise TooManyWaitingError(waiting, person.username)
