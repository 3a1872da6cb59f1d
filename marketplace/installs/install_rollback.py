"""Undoing the writes of an unfinished installation."""

from catalog.models import Capability, Definition, Integration
from catalog.models.integration import ReviewState
from marketplace.models import Installation


def undo_install(installation: Installation) -> None:
    """Delete the tools of an unfinished first installation. Callers hold `lock_installed`."""
    # An update is undone by not switching to it: the version in use stays as it is.
    if installation.kind != Installation.Kind.INSTALL:
        return
    pending = {"pk": installation.integration_id, "state": ReviewState.PENDING, "enabled": False}
    if not Integration.objects.filter(**pending).exists():
        return
    Definition.objects.filter(integration=installation.integration_id).delete()
    Capability.objects.filter(integration=installation.integration_id).delete()
