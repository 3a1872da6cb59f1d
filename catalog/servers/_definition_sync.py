"""Syncs of a server's definitions, one at a time per server.

They run on a schedule, on a change notification, on request, and when a call found a changed
definition.
"""

from django.db import transaction

from catalog.locks import try_sync_lock
from catalog.models import Integration, Sync
from catalog.models.integration import ReviewState
from catalog.registration.definition_comparison import StoredDefinitions, store_definitions
from catalog.servers.client.server_problems import ServerProblemError
from catalog.servers.connections.server_requests import check_server
from catalog.servers.secrets.encryption_keys import SecretUnavailableError

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
        stored = store_definitions(
            integration=integration,
            tools=tools.tools,
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
