"""Status of an integration: pure, from its row and its last installation."""

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.humanize.templatetags.humanize import naturaltime
from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from catalog.models import Integration
from catalog.models.integration import ReviewState
from catalog.readiness.obstacles import BUILT_INS, OWN_INTEGRATIONS, Obstacle
from catalog.readiness.readiness import SEVERAL
from marketplace.models import Installation


@dataclass(frozen=True, slots=True)
class IntegrationStatus:
    """A status: `label` for the badge, `words` as a sentence, `tone` and `icon` for display."""

    label: str
    words: str
    tone: str
    icon: str


def describe_status(
    integration: Integration, obstacle: Obstacle, install_state: str, install_message: str
) -> IntegrationStatus:
    """Return the first problem that keeps it from working, or that it works.

    `obstacle` is that of a person without secrets and accounts of their own.
    """
    if install_state in Installation.WORKING:
        return IntegrationStatus(_("installing"), install_message, "note", "refresh-cw")
    if integration.state != ReviewState.APPROVED:
        return _not_approved(integration, install_state, install_message)
    if not integration.enabled:
        return IntegrationStatus(_("off"), _("It is switched off: nobody can use it."), "", "ban")
    if obstacle is not Obstacle.NONE:
        return _obstructed(integration, obstacle)
    return _unobstructed(integration)


def _not_approved(integration: Integration, state: str, message: str) -> IntegrationStatus:
    if integration.state == ReviewState.QUARANTINED:
        words = _("It is in quarantine: nobody can use it until an admin has reviewed it.")
        return IntegrationStatus(_("in quarantine"), words, "danger", "triangle-alert")
    if state == Installation.State.NEEDS_SECRET:
        return IntegrationStatus(_("needs a secret"), message, "caution", "key-round")
    if state == Installation.State.FAILED:
        return IntegrationStatus(_("not installed"), message, "danger", "circle-x")
    if state == Installation.State.CANCELLED:
        return IntegrationStatus(
            _("not installed"), _("The installation was cancelled."), "", "ban"
        )
    words = _("Nobody can use it until an admin has approved it.")
    return IntegrationStatus(_("needs approval"), words, "caution", "hand")


def _obstructed(integration: Integration, obstacle: Obstacle) -> IntegrationStatus:
    match obstacle:
        case Obstacle.NOT_CONFIRMED:
            words = _(
                "It was imported, and no admin has confirmed it yet. Pegboard describes its tools, "
                "but does not contact or start it."
            )
            return IntegrationStatus(_("not confirmed"), words, "caution", "hand")
        case Obstacle.NOT_CONNECTED:
            words = _("It is not connected. Its tools are left out until it is.")
            return IntegrationStatus(_("not connected"), words, "caution", "unplug")
        case Obstacle.OWN_SECRET | Obstacle.OWN_ACCOUNT:
            words = _("Each person needs a secret or an account of their own to use it.")
            return IntegrationStatus(_("personal"), words, "note", "key-round")
        case Obstacle.SHARED_SECRET:
            words = _("It cannot run until these secrets are set: %(names)s.")
            names = {"names": ", ".join(integration.required_secrets)}
            return IntegrationStatus(_("needs a secret"), words % names, "caution", "key-round")
        case Obstacle.SHARED_ACCOUNT:
            words = _("It cannot run until an admin signs in to it.")
            return IntegrationStatus(_("needs sign-in"), words, "caution", "key-round")
        case Obstacle.NOT_ALLOWED:
            words = _(integration.health) if integration.health else _("It may not be started.")
            return IntegrationStatus(_("not allowed"), words, "danger", "ban")
    words = _(integration.health) if integration.health else _("It does not respond.")
    return IntegrationStatus(_("failing"), words + _since(integration), "danger", "circle-alert")


def _since(integration: Integration) -> str:
    since = integration.failing_since
    if since is None or timezone.now() - since < timedelta(minutes=1):
        return ""
    age = timesince(since, depth=1)
    if integration.failures < SEVERAL:
        return " " + _("Failing for %(time)s.") % {"time": age}
    values = {"time": age, "count": integration.failures}
    return " " + _("Failing for %(time)s, %(count)s times in a row.") % values


def _unobstructed(integration: Integration) -> IntegrationStatus:
    if not integration.transport:
        return _without_server(integration)
    if integration.health_checked_at is None:
        words = _("No check has run, and no tool was called yet.")
        return IntegrationStatus(_("never checked"), words, "", "circle")
    words = _("The last check succeeded %(time)s.")
    age = {"time": naturaltime(integration.health_checked_at)}
    return IntegrationStatus(_("ready"), words % age, "good", "check")


def is_only_described(integration: Integration) -> bool:
    """Return True if nothing here carries out its calls."""
    runs_itself = integration.kind == Integration.Kind.SKILL
    slugs = (*OWN_INTEGRATIONS, *BUILT_INS)
    return not integration.transport and not runs_itself and integration.slug not in slugs


def _without_server(integration: Integration) -> IntegrationStatus:
    if is_only_described(integration):
        words = _("Pegboard describes its tools. Your application carries out their calls.")
        return IntegrationStatus(_("carried out by your application"), words, "", "info")
    if integration.slug in BUILT_INS:
        return IntegrationStatus(_("ready"), _("Pegboard runs its tools itself."), "good", "check")
    words = _("Pegboard answers its calls itself.")
    return IntegrationStatus(_("ready"), words, "good", "check")
