"""Health history of servers: bounded, with the latest state on the integration."""

from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from catalog.models import HealthCheck, Integration, Secret
from catalog.servers.client.server_problems import Reason, ServerProblemError

MAX_CHECKS = 200


@transaction.atomic
def record_health(
    integration: Integration,
    problem: ServerProblemError | None = None,
    *,
    milliseconds: int | None = None,
    tools: int | None = None,
) -> HealthCheck | None:
    """Append a check, drop the oldest, and update the integration; None if it is gone."""
    # Locked, so that no check is inserted for an integration being deleted.
    still_there = Integration.objects.select_for_update(no_key=True).filter(pk=integration.pk)
    if still_there.values_list("pk", flat=True).first() is None:
        return None
    check = HealthCheck.objects.create(
        integration=integration,
        reason=problem.reason if problem else "",
        last_words=problem.detail if problem else "",
        milliseconds=milliseconds,
        tools=tools,
    )
    history = HealthCheck.objects.filter(integration=integration).order_by("-pk")
    oldest = history.values_list("pk", flat=True)[MAX_CHECKS : MAX_CHECKS + 1].first()
    if oldest is not None:
        HealthCheck.objects.filter(integration=integration, pk__lte=oldest).delete()
    if problem is None and milliseconds is not None and _only_calls_need_account(integration):
        # The list is open to everybody: that it is given says nothing about calls.
        Integration.objects.filter(pk=integration.pk).update(health_checked_at=timezone.now())
        return check
    state = Integration.Connection.FAILING if problem else Integration.Connection.CONNECTED
    integration.connection = state
    now = timezone.now()
    Integration.objects.filter(pk=integration.pk).update(
        connection=state,
        health=str(problem or ""),
        health_checked_at=now,
        problem=problem.reason if problem else "",
        failing_since=Coalesce("failing_since", Value(now)) if problem else None,
        failures=F("failures") + 1 if problem else 0,
    )
    return check


def _only_calls_need_account(integration: Integration) -> bool:
    """Return True if a call was asked to sign in, and there is no shared credential since."""
    still = Integration.objects.filter(pk=integration.pk, problem=Reason.SIGN_IN_NEEDED).exists()
    checks = HealthCheck.objects.filter(integration=integration, reason=Reason.SIGN_IN_NEEDED)
    last = checks.order_by("-pk").first()
    if not still or last is None or last.milliseconds is not None:  # it was a check that was asked
        return False
    return not Secret.objects.filter(integration=integration, user=None).exists()
