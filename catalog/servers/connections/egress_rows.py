"""Attempts of programs to reach hosts, counted in rows."""

from datetime import timedelta

from django.db import IntegrityError, close_old_connections, connection, transaction
from django.db.models import F
from django.utils import timezone

from catalog.models import Integration, OutgoingHost
from catalog.servers.cell.egress_log import Attempts, egress_log

# Names that a program made up must not fill the table.
MOST_HOSTS = 100
_KEPT = timedelta(days=90)


def store_attempts(attempts: Attempts) -> None:
    """Add the attempts to the rows of their integrations."""
    for (integration, host, allowed), times in attempts.items():
        _add(integration, host, times, allowed=allowed)


def _store_in_thread(attempts: Attempts) -> None:
    close_old_connections()
    try:
        store_attempts(attempts)
    finally:
        connection.close()


def _add(integration: int, host: str, times: int, *, allowed: bool) -> None:
    rows = OutgoingHost.objects.filter(integration=integration)
    now = timezone.now()
    if rows.filter(host=host).update(times=F("times") + times, allowed=allowed, last_at=now):
        return
    rows.filter(last_at__lt=now - _KEPT).delete()
    if rows.count() >= MOST_HOSTS or not Integration.objects.filter(pk=integration).exists():
        return
    try:
        with transaction.atomic():
            OutgoingHost.objects.create(
                integration_id=integration, host=host, times=times, allowed=allowed, last_at=now
            )
    except IntegrityError:
        pass  # uninstalled meanwhile, or another thread was first


egress_log.store = _store_in_thread
