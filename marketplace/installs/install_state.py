"""Installation state transitions, by compare-and-set. Stale or cancelled workers change nothing."""

from django.db import transaction
from django.db.models.functions import Now

from acl.platform.jobs.job_rows import move
from marketplace.models import Installation, InstallationEvent

State = Installation.State


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


class StoppedError(Exception):
    """The installation was cancelled or removed, or another worker has taken it."""


def advance(installation: Installation, to: State, message: str) -> None:
    """Change the state, for a worker; StoppedError if it may not continue."""
    if not transition(installation, to, message=message):
        raise StoppedError
