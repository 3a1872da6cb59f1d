"""Signing in, in the process that goes out. The web sends these by name."""

from collections.abc import Callable
from datetime import timedelta

from celery import shared_task
from django.conf import settings

from acl.platform.clock import database_now
from catalog.models import OAuthConnection, OAuthRevocation, OAuthSignIn
from catalog.models.oauth_tables import SIGN_IN_LASTS
from catalog.servers.oauth.authorization_client import Asker
from catalog.servers.oauth.revocation import revoke
from catalog.servers.oauth.sign_in import finish, prepare
from catalog.servers.oauth.tokens import renew

State = OAuthSignIn.State
# Renewed this long before they end, so that a call seldom waits for it.
EARLY = timedelta(minutes=5)
_SIGN_INS_KEPT = timedelta(days=1)
_REVOKED_WITHIN = timedelta(days=1)


@shared_task(name="servers.prepare_sign_in")  # type: ignore[untyped-decorator]
def prepare_sign_in(pk: int) -> None:
    """Find out where somebody signs in."""
    prepare(pk)


@shared_task(name="servers.finish_sign_in")  # type: ignore[untyped-decorator]
def finish_sign_in(pk: int) -> None:
    """Get their token; with the account of everybody, look at once how the server is doing."""
    if finish(pk):
        row = OAuthSignIn.objects.get(pk=pk)
        if row.user_id is None:
            finish_sign_in.app.send_task("servers.check_integration", [row.integration_id])


@shared_task(name="servers.sweep_sign_ins")  # type: ignore[untyped-decorator]
def sweep_sign_ins() -> None:
    """Do what a lost message has left undone. Whoever comes second finds nothing to do."""
    now, patience = database_now(), timedelta(seconds=settings.PEGBOARD_SWEEP_AFTER_SECONDS)
    left = OAuthSignIn.objects.filter(
        created_at__gt=now - SIGN_IN_LASTS, created_at__lt=now - patience
    )
    steps: dict[str, Callable[[int], None]] = {
        State.PREPARING: prepare_sign_in,
        State.FINISHING: finish_sign_in,
    }
    for pk, state in left.filter(state__in=steps).order_by("pk").values_list("pk", "state"):
        steps[state](pk)


@shared_task(name="servers.revoke_token")  # type: ignore[untyped-decorator]
def revoke_token(pk: int) -> None:
    """Give a token back whose account was disconnected."""
    revoke(pk)


@shared_task(name="servers.sweep_revocations")  # type: ignore[untyped-decorator]
def sweep_revocations() -> None:
    """Give back what could not be given back yet, for a day."""
    now, patience = database_now(), timedelta(seconds=settings.PEGBOARD_SWEEP_AFTER_SECONDS)
    OAuthRevocation.objects.filter(created_at__lt=now - _REVOKED_WITHIN).delete()
    left = OAuthRevocation.objects.filter(created_at__lt=now - patience)
    for pk in left.order_by("pk").values_list("pk", flat=True):
        revoke(pk)


@shared_task(name="servers.renew_tokens")  # type: ignore[untyped-decorator]
def renew_tokens() -> None:
    """Renew each token that ends soon, and forget sign-ins that are over."""
    now = database_now()
    ending = OAuthConnection.objects.filter(
        can_refresh=True,
        problem="",
        expires_at__lte=now + EARLY,
        integration__enabled=True,
        integration__unconfirmed=False,
    )
    for pk in ending.order_by("expires_at", "pk").values_list("pk", flat=True):
        renew(pk, within=EARLY, ask=Asker())
    OAuthSignIn.objects.filter(created_at__lt=now - _SIGN_INS_KEPT).delete()
