"""Failures of calls that an obstacle stops: the answer says what is missing."""

from django.utils import translation

from catalog.models import Capability, Secret
from catalog.readiness.obstacles import Obstacle
from catalog.readiness.readiness import ToolReadiness
from catalog.servers.client.server_problems import Reason
from discovery.calls.call_state import DISCONNECTED, NOT_THERE
from discovery.models import Call

_REASONS = {
    Obstacle.NOT_CONFIRMED: Reason.NOT_CONFIRMED,
    Obstacle.NOT_CONNECTED: DISCONNECTED,
    Obstacle.OWN_SECRET: Reason.SIGN_IN_NEEDED,
    Obstacle.SHARED_SECRET: Reason.SIGN_IN_NEEDED,
    Obstacle.OWN_ACCOUNT: Reason.SIGN_IN_NEEDED,
    Obstacle.SHARED_ACCOUNT: Reason.SIGN_IN_NEEDED,
    Obstacle.NOT_ALLOWED: Reason.NOT_ALLOWED,
    Obstacle.NOT_AVAILABLE: NOT_THERE,
}
_SECRETS = frozenset({Obstacle.OWN_SECRET, Obstacle.SHARED_SECRET})
_PERSONAL = frozenset({Obstacle.OWN_SECRET, Obstacle.OWN_ACCOUNT})


def failure_by_obstacle(call: Call, capability: Capability) -> tuple[str, str] | None:
    """Return the reason and message of a call that cannot be sent, or None if it can.

    A failing server is tried: it may have recovered.
    """
    readiness: ToolReadiness = capability.readiness  # type: ignore[attr-defined]
    obstacle = readiness.obstacle
    if obstacle in {Obstacle.NONE, Obstacle.FAILING}:
        return None
    if call.acts_for_other and obstacle in _PERSONAL:
        missing = _missing(capability, obstacle, None)
        return _REASONS[obstacle], _SHARED_ONLY.format(missing=missing)
    with translation.override("en"):  # stored, for readers of any language
        sentence = readiness.sentence
    names = f" ({_missing(capability, obstacle, call.user_id)})" if obstacle in _SECRETS else ""
    return _REASONS[obstacle], f"{sentence.rstrip('.')}{names}. Nothing has been run."


def _missing(capability: Capability, obstacle: Obstacle, user_id: int | None) -> str:
    if obstacle in _SECRETS:
        in_use = Secret.objects.for_use(capability.integration, user_id=user_id)
        return ", ".join(in_use.missing(capability.integration))
    return "a shared account"


_SHARED_ONLY = (
    "Calls on behalf of another person use shared accounts and secrets only. Missing: {missing}. "
    "Nothing has been run. An admin can set them, or the person can make the call themselves."
)
