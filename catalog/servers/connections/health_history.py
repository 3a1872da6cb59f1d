"""Health history of servers: bounded, with the latest state on the integration."""

from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from catalog.models import HealthCheck, Integration
from catalog.servers.client.server_problems import ServerProblemError

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
