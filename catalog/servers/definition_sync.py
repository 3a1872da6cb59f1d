"""Reading the definitions of a server that is in use, one reading of a server at a time.

On a schedule, when the server says that they have changed, when a person asks, and when a call has
found something else than was approved.
"""

from django.db import transaction

from catalog.locks import only_sync
from catalog.models import Integration, Sync
from catalog.models.integration import ReviewState
from catalog.registration.definition_review import StoredDefinitions, store_definitions
from catalog.servers.client.server_problems import ServerProblemError
from catalog.servers.connections.server_requests import check_server
from catalog.servers.secrets.encryption_keys import SecretUnavailableError

KEPT = 100


class BusyError(Exception):
    """Somebody else reads this server at the moment."""


def sync_definitions(pk: int, cause: str = Sync.Cause.SCHEDULE) -> Sync | None:
    """Read, compare, store, and write down how it was; None where there is nothing to be read."""
    integration = (
        Integration.objects.filter(
            pk=pk, enabled=True, state=ReviewState.APPROVED, unconfirmed=False
        )
        .exclude(transport="")
        .first()
    )
    if integration is None:
        return None
    with only_sync(integration.pk) as mine:
        if not mine:
            raise BusyError
        return _read(integration, cause)


def _read(integration: Integration, cause: str) -> Sync:
    try:
        tools = check_server(integration)
    except ServerProblemError as problem:
        return _note(Sync(integration=integration, cause=cause, reason=problem.reason))
    except SecretUnavailableError as problem:
        return _note(Sync(integration=integration, cause=cause, reason=problem.code))
    with transaction.atomic():
        stored = store_definitions(
            integration=integration, tools=tools.tools, by=None, complete=not tools.left_out
        )
        return _note(_told(integration, cause, stored))


def _told(integration: Integration, cause: str, stored: StoredDefinitions) -> Sync:
    return Sync(
        integration=integration,
        cause=cause,
        new=stored.new,
        changed=stored.changed,
        gone=stored.gone,
        returned=stored.returned,
        unreadable=len(stored.defects),
    )


def _note(sync: Sync) -> Sync:
    """Keep what is worth telling: of readings that are like the one before, only the last."""
    history = Sync.objects.filter(integration=sync.integration).order_by("-pk")
    before = history.first()
    alike = before is not None and not sync.found_something and not before.found_something
    if before is not None and alike and before.reason == sync.reason:
        before.delete()
    sync.save()
    oldest = history.values_list("pk", flat=True)[KEPT : KEPT + 1].first()
    if oldest is not None:
        history.filter(pk__lte=oldest).delete()
    return sync
