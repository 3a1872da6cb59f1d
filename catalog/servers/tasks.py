"""Tasks of the process that holds the connections.

The web process sends them by name and imports nothing that sends requests.
"""

import logging
from contextlib import suppress
from typing import Any

from celery import shared_task
from celery.signals import heartbeat_sent, worker_ready, worker_shutdown
from django.db.models import Q

from acl.platform.heartbeat import CONNECTIONS
from acl.platform.jobs.task_names import (
    CHECK_INTEGRATION,
    CHECK_INTEGRATIONS,
    SYNC_INTEGRATION,
    SYNC_INTEGRATIONS,
    send_each,
)
from catalog.models import Integration, Sync
from catalog.servers._definition_sync import BusyError, sync_definitions
from catalog.servers.cell.announcement import look, tell
from catalog.servers.client.server_problems import ServerProblemError
from catalog.servers.connections.event_loop import connection_loop
from catalog.servers.connections.health_history import record_health
from catalog.servers.connections.params import check_launch

logger = logging.getLogger("pegboard.cells")
# The supervisor waits for 35 seconds (marketplace/operate/embedded/pegboard_programs.py).
_FINISHING_SECONDS = 25


@shared_task(name=CHECK_INTEGRATION)  # type: ignore[untyped-decorator]
def check_integration(integration_id: int) -> None:
    """Check a server's health. Listing its tools is the check, so they are compared as well."""
    with suppress(BusyError):
        sync_definitions(integration_id, Sync.Cause.SCHEDULE)


@shared_task(  # type: ignore[untyped-decorator]
    name=SYNC_INTEGRATION,
    autoretry_for=(BusyError,),
    max_retries=60,
    default_retry_delay=2,
)
def sync_integration(integration_id: int, cause: str = Sync.Cause.PERSON) -> None:
    """Sync a server's definitions, retrying while another sync runs."""
    sync_definitions(integration_id, cause)


@shared_task(name=SYNC_INTEGRATIONS)  # type: ignore[untyped-decorator]
def sync_integrations() -> None:
    """Sync all servers in use; idle programs are started for it."""
    in_use = Integration.objects.filter(enabled=True, state="approved", unconfirmed=False)
    in_use = in_use.exclude(transport="")
    keys = in_use.order_by("pk").values_list("pk", flat=True)
    send_each(SYNC_INTEGRATION, ([key, Sync.Cause.SCHEDULE] for key in keys))


@shared_task(name=CHECK_INTEGRATIONS)  # type: ignore[untyped-decorator]
def check_integrations() -> None:
    """Check all HTTP servers and failing programs and APIs; idle programs are not started.

    Of idle programs it is checked that they may be started, so that nobody is offered their tools
    in vain.
    """
    in_use = Integration.objects.filter(enabled=True, state="approved", unconfirmed=False)
    in_use = in_use.exclude(connection=Integration.Connection.NOT_NEEDED)
    failing = Q(connection=Integration.Connection.FAILING)
    for idle in in_use.filter(~failing, transport="stdio"):
        try:
            check_launch(idle)
        except ServerProblemError as problem:
            record_health(idle, problem)
    if_failing = Q(transport__in=("stdio", "openapi"))
    looked_at = in_use.filter(Q(transport__in=("http", "sse")) | failing & if_failing)
    keys = looked_at.order_by("pk").values_list("pk", flat=True)
    send_each(CHECK_INTEGRATION, ([key] for key in keys))


@worker_ready.connect(dispatch_uid="pegboard-cells")  # type: ignore[untyped-decorator]
def say_how_programs_run(**_: Any) -> None:
    """Log once whether programs run in cells, and tell the web."""
    report = look()
    if report.words:
        logger.warning(report.words)
    tell()


@heartbeat_sent.connect(dispatch_uid="pegboard-cells-again")  # type: ignore[untyped-decorator]
def repeat_how_programs_run(sender: object = None, **_: object) -> None:
    """Tell it again, since Redis may have lost it."""
    hostname = getattr(getattr(sender, "eventer", None), "hostname", None) or ""
    if str(hostname).startswith(CONNECTIONS):
        tell()


@worker_shutdown.connect(dispatch_uid="pegboard-connections")  # type: ignore[untyped-decorator]
def end_connections(**_: Any) -> None:
    """Close all connections, so that no server outlives this process."""
    connection_loop.stop(finishing_seconds=_FINISHING_SECONDS)
