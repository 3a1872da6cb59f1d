"""Quotas on calls: which apply to a call, how much of them is used, and refusing beyond the hard
limit.

The statement that reads the tool names the quotas. With some, their rows are locked until the call
is stored, so that concurrent calls count each other, and one statement counts for all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.db.models import Q, QuerySet

from acl.audit.recorder import record
from acl.models import Application
from acl.platform.database_work import database_now
from acl.rights.caller_lookup import Caller
from catalog.models import Capability, Integration
from discovery.calls.approval_queue import TooManyWaitingError
from discovery.models import Call, CallLimit, Quota

MOST_QUOTAS = 500
MOST_A_MINUTE = 1_000_000
# Unless they were sent: what a server got counts, however the call ended.
_NOT_COUNTED = ("rejected", "expired", "cancelled")
_NAMED = ("user", "group", "capability")


class QuotaExceededError(TooManyWaitingError):
    """A quota of the call is used up. `seconds` are left of the day."""

    def __init__(self, quota: Quota, used: int, seconds: int) -> None:
        Exception.__init__(
            self,
            f"The quota “{quota.text}” is used up ({used:,} today). Nothing has been run. It "
            "begins anew at 00:00 UTC.",
        )
        self.seconds = seconds


class CallLimitReachedError(QuotaExceededError):
    """Refusal of a call beyond its integration's limit of a minute."""

    def __init__(self, a_minute: int, seconds: int) -> None:
        Exception.__init__(
            self,
            f"This integration takes {a_minute:,} calls a minute, and had as many. Nothing has "
            f"been run. It may be called again in {seconds:,} s.",
        )
        self.seconds = seconds


class ApplicationLimitError(QuotaExceededError):
    """Refusal of a call beyond what its application may make."""

    def __init__(self, name: str, limit: str, seconds: int) -> None:
        Exception.__init__(
            self,
            f"The application “{name}” has used its {limit}. Nothing has been run. It may call "
            f"again in {seconds:,} s.",
        )
        self.seconds = seconds


class QuotaRefusedError(Exception):
    """A quota cannot be set; the text says why."""


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """A quota with what is used of it today; of each person's quota, by whom it is used most."""

    quota: Quota
    used: int

    @property
    def is_near(self) -> bool:
        """Return True from the soft limit on."""
        return self.used >= self.quota.notice_at

    @property
    def is_over(self) -> bool:
        """Return True if the hard limit is reached."""
        return self.quota.hard is not None and self.used >= self.quota.hard


def check_quotas(call: Call, keys: Sequence[int]) -> str:
    """Lock the quotas, and return a notice for those near their end, or "".

    Raises QuotaExceededError for one that is used up. The locks last until the call is stored.
    """
    locked = Quota.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=keys)
    quotas = list(locked.select_related(*_NAMED).order_by("pk"))
    notices = []
    for use in count_use(quotas, user_id=call.user_id):
        quota, used = use.quota, use.used
        if use.is_over:
            raise QuotaExceededError(quota, used, seconds_left(database_now()))
        after = used + 1 if quota.measure == Quota.Measure.CALLS else used
        if after >= quota.notice_at:
            notices.append(f"{after:,} used today of the quota “{quota.text}”.")
    return " ".join(notices)


def check_call_limit(integration: Integration, a_minute: int) -> None:
    """Raise CallLimitReachedError if the integration has had its calls of this minute. Its limit is
    locked until the call is stored, so that concurrent calls count each other."""
    list(CallLimit.objects.select_for_update(no_key=True).filter(integration=integration))
    with connection.cursor() as cursor:
        cursor.execute(_OF_THIS_MINUTE, [integration.pk, list(_NOT_COUNTED), a_minute])
        number, seconds = cursor.fetchone()
    if number >= a_minute:
        raise CallLimitReachedError(a_minute, max(1, ceil(seconds)))


def check_application_limits(call: Call) -> str:
    """Return a notice if the call's application is near the end of what it may use today, or "".

    Raises ApplicationLimitError beyond it. The application is locked until the call is stored, so
    that its concurrent calls count each other.
    """
    locked = Application.objects.select_for_update(no_key=True)
    locked = locked.filter(pk=call.application_id or 0)
    application = locked.first()
    if application is None:
        return ""
    with connection.cursor() as cursor:
        cursor.execute(_OF_APPLICATION, [application.pk, list(_NOT_COUNTED)])
        in_minute, left, calls, tokens = cursor.fetchone()
    if application.calls_a_minute is not None and in_minute >= application.calls_a_minute:
        limit = f"{application.calls_a_minute:,} calls a minute"
        raise ApplicationLimitError(application.name, limit, max(1, ceil(left)))
    notices = []
    for most, used, after, unit in (
        (application.calls_a_day, calls, calls + 1, "calls"),
        (application.tokens_a_day, tokens, tokens, "tokens"),
    ):
        if most is not None and used >= most:
            seconds = seconds_left(database_now())
            raise ApplicationLimitError(application.name, f"{most:,} {unit} a day", seconds)
        if most is not None and after >= most * _NEAR:
            notices.append(f"{after:,} of {most:,} {unit} of “{application.name}” used today.")
    return " ".join(notices)


_NEAR = 0.8  # of a limit, from where answers say how much is used
_OF_APPLICATION = """
SELECT count(*) FILTER (WHERE recent),
       EXTRACT(EPOCH FROM min(created_at) FILTER (WHERE recent) + interval '1 minute'
                          - clock_timestamp()),
       count(*) FILTER (WHERE today),
       COALESCE(sum(tokens) FILTER (WHERE today), 0)::bigint
FROM (
  SELECT c.created_at, c.tokens_arguments + c.tokens_result AS tokens,
         c.created_at > clock_timestamp() - interval '1 minute' AS recent,
         c.created_at >= day.began AS today
  FROM (SELECT date_trunc('day', statement_timestamp() AT TIME ZONE 'UTC')
               AT TIME ZONE 'UTC' AS began) day
  JOIN discovery_call c
    ON c.created_at >= LEAST(day.began, clock_timestamp() - interval '1 minute')
  WHERE c.application_id = %s AND (c.state <> ALL (%s) OR c.started_at IS NOT NULL)
) counted
"""
# The newest calls, as many as are allowed: once the oldest of them is a minute old, there is room.
_OF_THIS_MINUTE = """
SELECT count(*), EXTRACT(EPOCH FROM min(created_at) + interval '1 minute' - clock_timestamp())
FROM (
  SELECT c.created_at FROM discovery_call c
  WHERE c.capability_id IN (SELECT k.id FROM catalog_capability k WHERE k.integration_id = %s)
    AND c.created_at > clock_timestamp() - interval '1 minute'
    AND (c.state <> ALL (%s) OR c.started_at IS NOT NULL)
  ORDER BY c.created_at DESC LIMIT %s) recent
"""


@transaction.atomic
def set_call_limit(*, by: User | None, integration: Integration, a_minute: int) -> bool:
    """Limit the calls of an integration in a minute; 0 is no limit. False if nothing changes."""
    row = CallLimit.objects.filter(integration=integration).first()
    before = row.a_minute if row else 0
    if before == a_minute:
        return False
    if a_minute:
        CallLimit.objects.update_or_create(integration=integration, defaults={"a_minute": a_minute})
    else:
        CallLimit.objects.filter(integration=integration).delete()
    details = {"before": before, "after": a_minute}
    record(by=by, action="integration.call_limit", target=integration.slug, details=details)
    return True


def call_limits() -> dict[int, int]:
    """Return the limits a minute, by integration."""
    return dict(CallLimit.objects.values_list("integration", "a_minute"))


def count_use(quotas: Sequence[Quota], *, user_id: int | None) -> list[QuotaUse]:
    """Count what is used of the quotas today, in one statement.

    Of each person's quota: by `user_id`, or by the person who uses it most.
    """
    if not quotas:
        return []
    parts: list[str] = []
    values: list[Any] = []
    for quota in quotas:
        where, about = _conditions(quota, user_id)
        amount = _AMOUNTS[quota.measure]
        most = quota.each_person and user_id is None
        counted = (
            _MOST.format(amount=amount, where=where)
            if most
            else (
                f"SELECT {amount} AS used FROM discovery_call c WHERE {where}"  # noqa: S608 - our own
            )
        )
        parts.append(f"({counted})")
        values += about
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(parts)}", values)
        used = cursor.fetchone()
    return [
        QuotaUse(quota, int(amount_used or 0))
        for quota, amount_used in zip(quotas, used, strict=True)
    ]


_AMOUNTS: dict[str, str] = {
    Quota.Measure.CALLS: "count(*)",
    Quota.Measure.TOKENS: "COALESCE(sum(c.tokens_arguments + c.tokens_result), 0)",
}
_MOST = """
SELECT max(used) FROM (
  SELECT {amount} AS used FROM discovery_call c WHERE {where} GROUP BY c.user_id) each
"""
_TODAY = (
    "c.created_at >= date_trunc('day', statement_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"
    " AND (c.state <> ALL (%s) OR c.started_at IS NOT NULL)"
)


def _conditions(quota: Quota, user_id: int | None) -> tuple[str, list[Any]]:
    """Return the conditions on a quota's calls; only its own columns, so that an index fits."""
    parts = [_TODAY]
    values: list[Any] = [list(_NOT_COUNTED)]
    person = user_id if quota.each_person else quota.user_id
    for column, value in {"user_id": person, "group_id": quota.group_id}.items():
        if value is not None:
            parts.append(f"c.{column} = %s")
            values.append(value)
    if quota.capability is not None:
        # By name: neither a rename nor a new installation makes the day begin anew.
        parts.append("c.full_name = ANY (%s)")
        values.append([quota.capability.full_name, *quota.former_names])
    return " AND ".join(parts), values


def list_quotas() -> QuerySet[Quota]:
    """Return all quotas with the rows that they name."""
    return Quota.objects.select_related(*_NAMED)


def own_quotas(caller: Caller) -> list[QuotaUse]:
    """Return the use of the quotas that hold for the caller as a person, whatever the tool."""
    of_person = Q(user=caller.user_id) | Q(each_person=True)
    in_groups = Q(group=None) | Q(group__in=caller.group_ids)
    quotas = list_quotas().filter(of_person, in_groups, capability=None)[:MOST_QUOTAS]
    return count_use(list(quotas), user_id=caller.user_id)


def seconds_left(now: datetime) -> int:
    """Return the seconds until the day ends in UTC, at least one."""
    now = now.astimezone(UTC)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return max(1, -int((now - midnight).total_seconds()))


def check_quota(
    *, measure: str, soft: int | None, hard: int | None, user: User | None, each_person: bool
) -> None:
    """Raise QuotaRefusedError for a quota that limits nothing or contradicts itself."""
    if soft is None and hard is None:
        raise QuotaRefusedError(f"Give a soft or a hard limit of {measure}.")
    if soft is not None and hard is not None and soft > hard:
        raise QuotaRefusedError("The soft limit must not be above the hard one.")
    if user is not None and each_person:
        raise QuotaRefusedError("A quota is for one person or for each, not for both.")


@transaction.atomic
def set_quota(
    *,
    by: User | None,
    measure: str,
    soft: int | None,
    hard: int | None,
    user: User | None = None,
    group: Group | None = None,
    capability: Capability | None = None,
    each_person: bool = False,
) -> Quota:
    """Set a quota, in place of one with the same subject and measure. Raises QuotaRefusedError."""
    check_quota(measure=measure, soft=soft, hard=hard, user=user, each_person=each_person)
    quota, is_new = Quota.objects.update_or_create(
        user=user,
        group=group,
        capability=capability,
        each_person=each_person,
        measure=measure,
        defaults={"soft": soft, "hard": hard},
    )
    if is_new and Quota.objects.count() > MOST_QUOTAS:
        raise QuotaRefusedError(f"There are {MOST_QUOTAS} quotas already. Delete one first.")
    limits = {"soft": soft, "hard": hard}
    record(by=by, action="quota.set", target=quota.text, details=limits)
    return quota


@transaction.atomic
def delete_quota(*, by: User | None, quota: Quota) -> None:
    """Delete a quota."""
    target = quota.text
    quota.delete()
    record(by=by, action="quota.deleted", target=target)
