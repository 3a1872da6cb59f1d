"""Tasks of the process that holds the connections.

The web process sends them by name and imports nothing that sends requests.
"""

import logging
import os
import signal
import time
from contextlib import suppress
from threading import Event, Thread
from typing import Any

from celery import shared_task
from celery.signals import heartbeat_sent, worker_init, worker_ready, worker_shutdown
from django.db import transaction
from django.db.models import Q

from acl.platform.database_work import Lease
from acl.platform.processes import CONNECTIONS, touch_alive_file
from acl.platform.task_names import (
    CHECK_INTEGRATION,
    CHECK_INTEGRATIONS,
    SYNC_INTEGRATION,
    SYNC_INTEGRATIONS,
    send_each,
)
from catalog.formats.readers.tool import POLICY_OF_PAGE, page_address, with_policy
from catalog.locks import try_sync_lock
from catalog.models import Definition, Integration, Sync
from catalog.models.integration import ReviewState
from catalog.registration.definition_comparison import StoredDefinitions, store_definitions
from catalog.servers.cell.support import look, tell
from catalog.servers.client.server_problems import ServerProblemError
from catalog.servers.connections.event_loop import connection_loop
from catalog.servers.connections.health_history import record_health
from catalog.servers.connections.params import check_launch
from catalog.servers.connections.server_requests import check_server
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from catalog.trust.tool_list import parse_definition

# Syncs of a server's definitions, one at a time per server.
#
# They run on a schedule, on a change notification, on request, and when a call found a changed
# definition.

MAX_SYNCS = 100


class BusyError(Exception):
    """Another sync of this server is running."""


def sync_definitions(pk: int, cause: str = Sync.Cause.SCHEDULE) -> Sync | None:
    """Read, compare and store a server's definitions; None if it is not in use."""
    integration = (
        Integration.objects.filter(
            pk=pk, enabled=True, state=ReviewState.APPROVED, unconfirmed=False
        )
        .exclude(transport="")
        .first()
    )
    if integration is None:
        return None
    with try_sync_lock(integration.pk) as acquired:
        if not acquired:
            raise BusyError
        return _run_sync(integration, cause)


def _run_sync(integration: Integration, cause: str) -> Sync:
    try:
        tools = check_server(integration)
    except ServerProblemError as problem:
        return _save_sync(Sync(integration=integration, cause=cause, reason=problem.reason))
    except SecretUnavailableError as problem:
        return _save_sync(Sync(integration=integration, cause=cause, reason=problem.code))
    with transaction.atomic():
        definitions = tools.tools
        if tools.unread:  # a page that cannot be read now keeps the policy that was approved
            rows = Definition.objects.filter(integration=integration).values_list(
                "name", "approved"
            )
            metas = {name: parse_definition(text).get("_meta") or {} for name, text in rows}
            definitions = [
                with_policy(tool, metas.get(tool["name"], {}).get(POLICY_OF_PAGE))
                if page_address(tool.get("_meta")) in tools.unread
                else tool
                for tool in definitions
            ]
        stored = store_definitions(
            integration=integration,
            tools=definitions,
            by=None,
            complete=not tools.left_out,
            defects=tools.defects,
        )
        return _save_sync(_build_sync(integration, cause, stored))


def _build_sync(integration: Integration, cause: str, stored: StoredDefinitions) -> Sync:
    return Sync(
        integration=integration,
        cause=cause,
        new=stored.new,
        changed=stored.changed,
        gone=stored.gone,
        returned=stored.returned,
        unreadable=len(stored.defects),
    )


def _save_sync(sync: Sync) -> Sync:
    """Save a sync, replacing the previous one if both found the same nothing."""
    history = Sync.objects.filter(integration=sync.integration).order_by("-pk")
    before = history.first()
    both_empty = before is not None and not sync.found_something and not before.found_something
    if before is not None and both_empty and before.reason == sync.reason:
        # Of equal syncs in a row that found nothing, keep only the latest.
        before.delete()
    sync.save()
    oldest = history.values_list("pk", flat=True)[MAX_SYNCS : MAX_SYNCS + 1].first()
    if oldest is not None:
        history.filter(pk__lte=oldest).delete()
    return sync


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


# Of several processes one keeps the connections; the others wait until it dies.
_lease = Lease("pegboard/connections")
_STANDBY_SECONDS = 2.0
_has_ended = Event()


@worker_init.connect(dispatch_uid="pegboard-connections-lease")  # type: ignore[untyped-decorator]
def wait_for_lease(**_: Any) -> None:
    """Wait until no other process keeps the connections. Celery takes tasks only after this."""
    is_waiting = False
    while (is_held := _lease.hold()) is not True:
        if is_held is False and not is_waiting:
            is_waiting = True
            logger.info("Another process keeps the connections: this one takes over when it dies.")
        touch_alive_file()
        time.sleep(_STANDBY_SECONDS)
    _has_ended.clear()
    Thread(target=_end_when_replaced, name="lease", daemon=True).start()


def _end_when_replaced() -> None:
    """End this process once another has the lease, as after a restart of Postgres."""
    while not _has_ended.wait(_STANDBY_SECONDS):
        if _lease.hold() is False:
            logger.warning("Another process keeps the connections now, so this one ends.")
            os.kill(os.getpid(), signal.SIGTERM)
            return
    _lease.release()


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
    """Close all connections, so that no server outlives this process, and give up the lease."""
    connection_loop.stop(finishing_seconds=_FINISHING_SECONDS)
    _has_ended.set()
