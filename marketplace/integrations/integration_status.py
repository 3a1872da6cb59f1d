"""Status of an integration: pure, from its row and its last installation."""

from dataclasses import dataclass

from catalog.models import Integration
from catalog.models.integration import ReviewState
from marketplace.models import Installation


@dataclass(frozen=True, slots=True)
class Standing:
    """A status: `label` for the badge, `words` as a sentence, `tone` and `icon` for display."""

    label: str
    words: str
    tone: str
    icon: str


def standing_of(integration: Integration, install_state: str, install_message: str) -> Standing:
    """Return the first problem that keeps it from working, or that it works."""
    if install_state in Installation.WORKING:
        return Standing("installing", install_message, "note", "refresh-cw")
    if integration.state != ReviewState.APPROVED:
        return _not_approved(integration, install_state, install_message)
    if not integration.enabled:
        return Standing("off", "It is switched off: nobody can use it.", "", "ban")
    if integration.unconfirmed:
        told = (
            "It was imported, and nobody has confirmed it: nothing is sent to it or started. "
            "Its tools are described only."
        )
        return Standing("not confirmed", told, "caution", "hand")
    return _connected(integration)


def _not_approved(integration: Integration, state: str, message: str) -> Standing:
    if integration.state == ReviewState.QUARANTINED:
        told = "It is in quarantine: nobody can use it until somebody has looked at it."
        return Standing("in quarantine", told, "danger", "triangle-alert")
    if state == Installation.State.FAILED:
        return Standing("not installed", message, "danger", "circle-x")
    if state == Installation.State.CANCELLED:
        return Standing("not installed", "Its installation was cancelled.", "", "ban")
    told = "It waits for somebody to look at it: nobody can use it until then."
    return Standing("needs approval", told, "caution", "hand")


def _connected(integration: Integration) -> Standing:
    match integration.connection:
        case Integration.Connection.FAILING:
            told = integration.health or "It does not answer."
            return Standing("failing", told, "danger", "circle-alert")
        case Integration.Connection.DISCONNECTED:
            told = "It is not connected: its tools are left out until it is."
            return Standing("not connected", told, "caution", "unplug")
        case Integration.Connection.CONNECTED:
            return Standing("works", "It was connected when it was last asked.", "good", "check")
    return Standing("works", "It needs no connection.", "good", "check")
