"""Alerts on bad outcomes: one per scope within the cooldown, across all processes."""

from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import connection, transaction

from discovery.models import OutcomeAlert
from discovery.turns.outcome_windows import Window

_LOCKS = 7301  # first key of the advisory locks; the second is the scope's hash
log = structlog.get_logger(__name__)


def raise_alert(window: Window, *, at: datetime) -> OutcomeAlert | None:
    """Return a new alert; None if outcomes are fine, alerts are off, or the cooldown lasts."""
    least, threshold = settings.PEGBOARD_ALERT_SAMPLES, settings.PEGBOARD_ALERT_BELOW
    if not settings.PEGBOARD_ALERTS or not window.falls_below(threshold, least=least):
        return None
    alert = _raise_once(window, at)
    if alert:
        log.warning("turns go badly", scope=alert.scope, rate=alert.value, samples=alert.samples)
    return alert


@transaction.atomic
def _raise_once(window: Window, at: datetime) -> OutcomeAlert | None:
    """Create the alert under a lock, unless another process has just created it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_LOCKS, window.scope.key])
    cooldown = timedelta(seconds=settings.PEGBOARD_ALERT_COOLDOWN_SECONDS)
    if OutcomeAlert.objects.filter(scope=window.scope.key, at__gt=at - cooldown).exists():
        return None
    rate, threshold = window.weighted_rate or 0.0, settings.PEGBOARD_ALERT_BELOW
    critical = rate < threshold / 2
    return OutcomeAlert.objects.create(
        scope=window.scope.key,
        group_id=window.scope.group_id,
        space_id=window.scope.space_id,
        severity=OutcomeAlert.Severity.CRITICAL if critical else OutcomeAlert.Severity.WARNING,
        reason=f"Of the last {window.samples} turns {window.failed} failed and {window.partial}"
        " succeeded in part.",
        threshold=threshold,
        value=rate,
        samples=window.samples,
        at=at,
    )
