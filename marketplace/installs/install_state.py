"""Installation state transitions, by compare-and-set. Stale or cancelled workers change nothing."""

from django.db import transaction
from django.db.models.functions import Now

from marketplace.models import Installation, InstallationEvent

State = Installation.State


@transaction.atomic
def transition(
    installation: Installation, to: State, *, message: str = "", reason: str = ""
) -> bool:
    """Change the state and log an event. Return False if the state is not what the caller read."""
    seen = Installation.objects.filter(pk=installation.pk, state=installation.state)
    now = Now()
    moved = seen.update(state=to, message=message, reason=reason, sent_at=now, updated_at=now)
    if not moved:
        return False
    installation.state, installation.message, installation.reason = to, message, reason
    InstallationEvent.objects.create(installation=installation, state=to, message=message)
    return True


class StoppedError(Exception):
    """The installation was cancelled or removed, or another worker has taken it."""


def advance(installation: Installation, to: State, message: str) -> None:
    """Change the state, for a worker; StoppedError if it may not continue."""
    if not transition(installation, to, message=message):
        raise StoppedError
