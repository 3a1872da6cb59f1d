"""From one state of an installation to the next: whoever is second, late or cancelled moves
nothing."""

from django.db import transaction
from django.db.models.functions import Now

from marketplace.models import Installation, InstallationEvent

State = Installation.State


@transaction.atomic
def move(installation: Installation, to: State, *, message: str = "", reason: str = "") -> bool:
    """Move on from the state that the caller has seen; False where it is another by now."""
    seen = Installation.objects.filter(pk=installation.pk, state=installation.state)
    now = Now()
    moved = seen.update(state=to, message=message, reason=reason, sent_at=now, updated_at=now)
    if not moved:
        return False
    installation.state, installation.message, installation.reason = to, message, reason
    InstallationEvent.objects.create(installation=installation, state=to, message=message)
    return True


class StoppedError(Exception):
    """Somebody else has moved it: cancelled it, removed it, or works on it."""


def go(installation: Installation, to: State, message: str) -> None:
    """Move on, for a worker: StoppedError where it is not its turn any more."""
    if not move(installation, to, message=message):
        raise StoppedError
