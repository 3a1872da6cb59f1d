"""Installation state transitions, by compare-and-set. Stale or cancelled workers change nothing.

Every transaction that moves an installation and writes elsewhere takes the locks below first:
advisory locks, then rows. Otherwise two of them could deadlock. Updating a row twice in a
transaction counts as well: Postgres then locks the rows it references, and waits for whoever
deletes them.
"""

from django.db import transaction
from django.db.models.functions import Now

from acl.platform.jobs.rows import move
from catalog.locks import lock_catalog, lock_definitions
from marketplace.models import Installation, InstallationEvent

State = Installation.State


class StoppedError(Exception):
    """The installation was cancelled or removed, or another worker has taken it."""


def lock_integration(integration_id: int) -> None:
    """Lock an integration against other operations until the transaction ends."""
    lock_definitions(integration_id)


def lock_installed(integration_id: int) -> None:
    """Lock an integration and the catalogue until the transaction ends."""
    lock_integration(integration_id)
    lock_catalog()


@transaction.atomic
def transition(
    installation: Installation, to: State, *, message: str = "", reason: str = ""
) -> bool:
    """Change the state and log an event. Return False if the state is not what the caller read."""
    now = Now()
    moved = move(installation, to, message=message, reason=reason, sent_at=now, updated_at=now)
    if not moved:
        return False
    installation.message, installation.reason = message, reason
    InstallationEvent.objects.create(installation=installation, state=to, message=message)
    return True


def advance(installation: Installation, to: State, message: str) -> None:
    """Change the state, for a worker; StoppedError if it may not continue."""
    if not transition(installation, to, message=message):
        raise StoppedError
