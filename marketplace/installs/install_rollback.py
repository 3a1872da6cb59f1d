"""Taking back what an installation that did not come to its end has written."""

from catalog.models import Capability, Definition, Integration
from catalog.models.integration import ReviewState
from marketplace.models import Installation


def withdraw(installation: Installation) -> None:
    """Nothing half-installed stays: tools that nobody could use yet go, with all that hangs on
    them. An update leaves what serves as it was. Whoever calls has taken `lock_installed`."""
    if installation.kind != Installation.Kind.INSTALL:
        return
    pending = {"pk": installation.integration_id, "state": ReviewState.PENDING, "enabled": False}
    if not Integration.objects.filter(**pending).exists():
        return
    Definition.objects.filter(integration=installation.integration_id).delete()
    Capability.objects.filter(integration=installation.integration_id).delete()
