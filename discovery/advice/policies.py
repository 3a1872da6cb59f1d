"""Advice as admins switch it on: each change has an audit entry."""

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.platform.answer_model import FieldRefused
from acl.rights.caller_lookup import Caller
from discovery.models import AdvicePolicy, ChatModel
from discovery.models.chat import utc_day


class AdviceRefusedError(FieldRefused):
    """The policy cannot be stored. `field` names what is wrong."""


def policy_for(caller: Caller) -> AdvicePolicy | None:
    """Return the policy of the caller's group, another one of theirs, or everybody's.

    It takes one statement.
    """
    rows = AdvicePolicy.objects.select_related("model")
    rows = rows.filter(Q(group=None) | Q(group__in=caller.group_ids))
    order = {caller.group_id: 0, None: 2}
    return min(rows, key=lambda row: (order.get(row.group_id, 1), row.pk), default=None)


def list_policies() -> QuerySet[AdvicePolicy]:
    """Return all policies, everybody's first."""
    rows = AdvicePolicy.objects.select_related("model", "group")
    return rows.order_by(F("group__name").asc(nulls_first=True))


def count_tokens(policy: AdvicePolicy, tokens: int) -> None:
    """Count what an answer has cost on its day."""
    with transaction.atomic():
        row = AdvicePolicy.objects.select_for_update().filter(pk=policy.pk).first()
        if row is not None:
            row.used_on, row.used_tokens = utc_day(), row.used_today + tokens
            row.save(update_fields=["used_on", "used_tokens"])


@transaction.atomic
def set_policy(
    *,
    by: User | None,
    group: Group | None,
    model: ChatModel,
    plans: bool = True,
    orders: bool = True,
    milliseconds: int = 2_000,
    daily_tokens: int = 500_000,
) -> AdvicePolicy:
    """Set a group's policy, or everybody's. Raises AdviceRefusedError."""
    if not plans and not orders:
        raise AdviceRefusedError("plans", _("Choose steps, the order, or both."))
    row = AdvicePolicy.objects.select_for_update().filter(group=group).first()
    row = row or AdvicePolicy(group=group)
    row.model, row.plans, row.orders = model, plans, orders
    row.milliseconds, row.daily_tokens = milliseconds, daily_tokens
    row.save()
    details = {
        "model": model.name,
        "plans": plans,
        "orders": orders,
        "milliseconds": milliseconds,
        "daily_tokens": daily_tokens,
    }
    target = group.name if group else "everyone"
    record(by=by, action="advice.set", target=target, details=details)
    return row


@transaction.atomic
def remove_policy(*, by: User | None, policy: AdvicePolicy) -> None:
    """Switch a policy's advice off."""
    target = policy.group.name if policy.group else "everyone"
    record(by=by, action="advice.remove", target=target, details={"model": policy.model.name})
    policy.delete()
