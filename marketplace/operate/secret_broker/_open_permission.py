"""Permission to open a secret now: only what a call, check, installation or sign-in needs.

The purpose of a sealed value says whose it is. What may be opened is read from the database each
time, so that a broken-into process cannot collect what nobody is using.
"""

import re
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from catalog.models import Integration, OAuthConnection, OAuthRevocation, OAuthSignIn
from catalog.models.oauth_tables import TOKEN
from discovery.models import Call, ModelRequest, ServerRequest
from marketplace.models import Installation, NotificationDelivery

_SECRET = re.compile(r"(?P<integration>\d{1,18})/(?P<user>\d{1,18}|all)/(?P<name>.{1,120})", re.S)
_CHANNEL = re.compile(r"channel/(?P<id>\d{1,18})/(?:address|secret)")
_CHAT_MODEL = re.compile(r"chat-model/(?P<id>\d{1,18})/key")
_SIGN_IN = re.compile(r"sign-in/(?P<id>[0-9a-f-]{36})")
# Tokens are renewed five minutes before they expire; clocks may differ a little.
_RENEWED_WITHIN = timedelta(minutes=10)


def may_open(purpose: str) -> bool:
    """Return True if something is going on that needs this value."""
    if match := _SIGN_IN.fullmatch(purpose):
        rows = OAuthSignIn.objects.filter(public_id=match["id"])
        return rows.filter(state=OAuthSignIn.State.FINISHING).exists()
    if match := _CHANNEL.fullmatch(purpose):
        return _is_told(int(match["id"]))
    if match := _CHAT_MODEL.fullmatch(purpose):
        asking = ModelRequest.objects.filter(state=ModelRequest.State.RUNNING)
        return asking.filter(message__chat__model=int(match["id"])).exists()
    if match := _SECRET.fullmatch(purpose):
        integration, user = int(match["integration"]), match["user"]
        if user == "all":
            needed = _is_connected(integration)
        else:
            needed = _is_called(integration, int(user))
            needed = needed or (match["name"] == TOKEN and _is_renewed(integration, int(user)))
        return needed or _is_revoked(purpose)
    return False


def connection_of(purpose: str) -> str:
    """Return whose connection a value belongs to: integration and person."""
    return purpose.rpartition("/")[0] if _SECRET.fullmatch(purpose) else purpose


def _is_told(channel: int) -> bool:
    """Return True if something is to be delivered through the notification channel."""
    pending = NotificationDelivery.State.PENDING
    rows = NotificationDelivery.objects.filter(channel=channel, state=pending)
    return rows.filter(channel__paused=False, attempts__gt=0).exists()


def _is_connected(integration: int) -> bool:
    """Return True if the integration is in use or being installed: its checks need no call."""
    rows = Integration.objects.filter(pk=integration, unconfirmed=False)
    states = (*Installation.WORKING, Installation.State.NEEDS_SECRET)
    installing = Installation.objects.filter(integration=integration, state__in=states)
    return rows.filter(enabled=True).exists() or (rows.exists() and installing.exists())


def _is_called(integration: int, user: int) -> bool:
    """Return True if a call or request of theirs is under way, at a server that takes their
    secrets."""
    calls = Call.objects.filter(
        user_id=user,
        user__is_active=True,
        state__in=Call.UNDER_WAY,
        capability__integration_id=integration,
        capability__integration__own_secrets=True,
        capability__integration__unconfirmed=False,
    )
    requests = ServerRequest.objects.filter(
        user_id=user,
        user__is_active=True,
        state__in=(ServerRequest.State.QUEUED, ServerRequest.State.RUNNING),
        integration_id=integration,
        integration__own_secrets=True,
        integration__unconfirmed=False,
    )
    return calls.exists() or requests.exists()


def _is_renewed(integration: int, user: int) -> bool:
    """Return True if the person's token is about to expire."""
    rows = OAuthConnection.objects.filter(integration=integration, user=user, can_refresh=True)
    return rows.filter(expires_at__lte=timezone.now() + _RENEWED_WITHIN).exists()


def _is_revoked(purpose: str) -> bool:
    """Return True if the token of a removed account is to be revoked at its server."""
    matching = Q(token_purpose=purpose) | Q(client_purpose=purpose)
    return OAuthRevocation.objects.filter(matching).exists()
