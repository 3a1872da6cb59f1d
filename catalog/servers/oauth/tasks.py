"""Sign-in tasks of the worker. The web process sends them by name."""

from collections.abc import Callable
from datetime import timedelta

from celery import shared_task
from django.conf import settings

from acl.platform.clock import database_now
from catalog.models import OAuthConnection, OAuthRevocation, OAuthSignIn
from catalog.models.oauth_tables import SIGN_IN_LASTS
from catalog.servers.oauth.authorization_client import OAuthHttp
from catalog.servers.oauth.revocation import revoke
from catalog.servers.oauth.sign_in import finish, prepare
from catalog.servers.oauth.tokens import renew

State = OAuthSignIn.State
# Tokens are renewed this long before they expire, so that calls rarely wait.
EARLY = timedelta(minutes=5)
_SIGN_INS_KEPT = timedelta(days=1)
_REVOKED_WITHIN = timedelta(days=1)


@shared_task(name="servers.prepare_sign_in")  # type: ignore[untyped-decorator]
def prepare_sign_in(pk: int) -> None:
    """Prepare a sign-in."""
    prepare(pk)


@shared_task(name="servers.finish_sign_in")  # type: ignore[untyped-decorator]
def finish_sign_in(pk: int) -> None:
    """Finish a sign-in; after connecting the shared account, check the server at once."""
    if finish(pk):
        row = OAuthSignIn.objects.get(pk=pk)
        if row.user_id is None:
            finish_sign_in.app.send_task("servers.check_integration", [row.integration_id])


@shared_task(name="servers.sweep_sign_ins")  # type: ignore[untyped-decorator]
def sweep_sign_ins() -> None:
    """Run steps whose message was lost. Each step is idempotent."""
    now, grace = database_now(), timedelta(seconds=settings.PEGBOARD_SWEEP_AFTER_SECONDS)
    left = OAuthSignIn.objects.filter(
        created_at__gt=now - SIGN_IN_LASTS, created_at__lt=now - grace
    )
    steps: dict[str, Callable[[int], None]] = {
        State.PREPARING: prepare_sign_in,
        State.FINISHING: finish_sign_in,
    }
    for pk, state in left.filter(state__in=steps).order_by("pk").values_list("pk", "state"):
        steps[state](pk)


@shared_task(name="servers.revoke_token")  # type: ignore[untyped-decorator]
def revoke_token(pk: int) -> None:
    """Revoke the token of a removed account."""
    revoke(pk)


@shared_task(name="servers.sweep_revocations")  # type: ignore[untyped-decorator]
def sweep_revocations() -> None:
    """Retry open revocations, for a day."""
    now, grace = database_now(), timedelta(seconds=settings.PEGBOARD_SWEEP_AFTER_SECONDS)
    OAuthRevocation.objects.filter(created_at__lt=now - _REVOKED_WITHIN).delete()
    left = OAuthRevocation.objects.filter(created_at__lt=now - grace)
    for pk in left.order_by("pk").values_list("pk", flat=True):
        revoke(pk)


@shared_task(name="servers.renew_tokens")  # type: ignore[untyped-decorator]
def renew_tokens() -> None:
    """Renew tokens that expire soon, and delete old sign-ins."""
    now = database_now()
    ending = OAuthConnection.objects.filter(
        can_refresh=True,
        problem="",
        expires_at__lte=now + EARLY,
        integration__enabled=True,
        integration__unconfirmed=False,
    )
    for pk in ending.order_by("expires_at", "pk").values_list("pk", flat=True):
        renew(pk, within=EARLY, http=OAuthHttp())
    OAuthSignIn.objects.filter(created_at__lt=now - _SIGN_INS_KEPT).delete()
