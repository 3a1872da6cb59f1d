"""Sign-in tasks of the worker. The web process sends them by name."""

from collections.abc import Callable
from datetime import timedelta

from celery import shared_task

from acl.models import ClientDocument
from acl.oauth.client_registration import OPEN, forget_unconnected_documents
from acl.platform.database_work import database_now
from acl.platform.jobs import overdue, send_again
from acl.platform.task_names import (
    CHECK_INTEGRATION,
    FINISH_SIGN_IN,
    PREPARE_SIGN_IN,
    READ_CLIENT_DOCUMENT,
    RENEW_TOKENS,
    REVOKE_TOKEN,
    SWEEP_CLIENT_DOCUMENTS,
    SWEEP_REVOCATIONS,
    SWEEP_SIGN_INS,
    send_now,
)
from catalog.models import OAuthConnection, OAuthRevocation, OAuthSignIn
from catalog.models.oauth_tables import SIGN_IN_LASTS
from catalog.servers.oauth import tokens
from catalog.servers.oauth.authorization_client import OAuthHttp
from catalog.servers.oauth.client_documents import read_document
from catalog.servers.oauth.sign_in import finish, prepare

State = OAuthSignIn.State
# Tokens are renewed this long before they expire, so that calls rarely wait.
EARLY = timedelta(minutes=5)
_SIGN_INS_KEPT = timedelta(days=1)
_REVOKED_WITHIN = timedelta(days=1)


@shared_task(name=PREPARE_SIGN_IN)  # type: ignore[untyped-decorator]
def prepare_sign_in(pk: int) -> None:
    """Prepare a sign-in."""
    prepare(pk)


@shared_task(name=FINISH_SIGN_IN)  # type: ignore[untyped-decorator]
def finish_sign_in(pk: int) -> None:
    """Finish a sign-in; after connecting the shared account, check the server at once."""
    if finish(pk):
        row = OAuthSignIn.objects.get(pk=pk)
        if row.user_id is None:
            send_now(CHECK_INTEGRATION, row.integration_id)


@shared_task(name=SWEEP_SIGN_INS)  # type: ignore[untyped-decorator]
def sweep_sign_ins() -> None:
    """Run steps whose message was lost. Each step is idempotent."""
    overdue_rows = OAuthSignIn.objects.filter(
        overdue(column="created_at"), created_at__gt=database_now() - SIGN_IN_LASTS
    )
    steps: dict[str, Callable[[int], None]] = {
        State.PREPARING: prepare_sign_in,
        State.FINISHING: finish_sign_in,
    }
    for pk, state in overdue_rows.filter(state__in=steps).order_by("pk").values_list("pk", "state"):
        steps[state](pk)


@shared_task(name=REVOKE_TOKEN)  # type: ignore[untyped-decorator]
def revoke_token(pk: int) -> None:
    """Revoke the token of a removed account."""
    tokens.revoke_token(pk)


@shared_task(name=SWEEP_REVOCATIONS)  # type: ignore[untyped-decorator]
def sweep_revocations() -> None:
    """Retry open revocations, for a day."""
    OAuthRevocation.objects.filter(created_at__lt=database_now() - _REVOKED_WITHIN).delete()
    overdue_rows = OAuthRevocation.objects.filter(overdue(column="created_at"))
    for pk in overdue_rows.order_by("pk").values_list("pk", flat=True):
        tokens.revoke_token(pk)


@shared_task(name=RENEW_TOKENS)  # type: ignore[untyped-decorator]
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
        tokens.renew_token(pk, within=EARLY, http=OAuthHttp())
    OAuthSignIn.objects.filter(created_at__lt=now - _SIGN_INS_KEPT).delete()


@shared_task(name=READ_CLIENT_DOCUMENT)  # type: ignore[untyped-decorator]
def read_client_document(pk: int) -> None:
    """Read a document that waits."""
    read_document(pk)


@shared_task(name=SWEEP_CLIENT_DOCUMENTS)  # type: ignore[untyped-decorator]
def sweep_client_documents() -> None:
    """Send lost tasks again, and delete documents that nobody needs."""
    overdue_rows = ClientDocument.objects.filter(overdue(at_least=30), state__in=OPEN)
    send_again(READ_CLIENT_DOCUMENT, overdue_rows, state=ClientDocument.State.WAITING)
    forget_unconnected_documents()
