"""Attempts of programs to reach hosts: logged at once, counted in rows a moment later."""

import asyncio
import logging
from collections import Counter
from datetime import timedelta

from django.db import IntegrityError, close_old_connections, connection, transaction
from django.db.models import F
from django.utils import timezone

from catalog.models import Integration, OutgoingHost
from catalog.servers.cell.allowed_hosts import written

logger = logging.getLogger("pegboard.egress")
_WAIT_SECONDS = 1.0
# Names that a program made up must not fill the table.
MOST_HOSTS = 100
_KEPT = timedelta(days=90)
_pending: Counter[tuple[int, str, bool]] = Counter()


def note(integration: int, host: str, port: int, *, allowed: bool) -> None:
    """Record one attempt. Called on the event loop, so the rows are written by a thread."""
    logger.info(
        "A program %s %s:%s.", "reached" if allowed else "was refused", host, port,
        extra={"integration": integration, "allowed": allowed},
    )  # fmt: skip
    if not integration:
        return
    if not _pending:
        loop = asyncio.get_running_loop()
        loop.call_later(_WAIT_SECONDS, lambda: loop.run_in_executor(None, _flush_in_thread))
    _pending[integration, written(host, port), allowed] += 1


def flush() -> None:
    """Add the attempts since the last time to the rows."""
    while _pending:
        (integration, host, allowed), times = _pending.popitem()
        _add(integration, host, times, allowed=allowed)


def _flush_in_thread() -> None:
    close_old_connections()
    try:
        flush()
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
