"""The worker's steps of a sign-in, before the redirect and after the callback, and its tasks."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import httpx2
from celery import shared_task
from django.db import transaction
from django.utils.translation import gettext_noop
from mcp.client.auth.oauth2 import PKCEParameters

from acl.audit.recorder import record
from acl.platform.database_work import database_now
from acl.platform.jobs import move, overdue
from acl.platform.task_names import (
    CHECK_INTEGRATION,
    FINISH_SIGN_IN,
    PREPARE_SIGN_IN,
    RENEW_TOKENS,
    REVOKE_TOKEN,
    SWEEP_REVOCATIONS,
    SWEEP_SIGN_INS,
    send_now,
)
from catalog.models import OAuthConnection, OAuthRevocation, OAuthSignIn
from catalog.models.oauth_tables import SIGN_IN_LASTS
from catalog.servers.net.address_check import OutgoingError
from catalog.servers.oauth import tokens
from catalog.servers.oauth._authorization_server import (
    Client,
    OAuthEndpoints,
    client_at,
    client_for,
    discover,
    discover_api,
)
from catalog.servers.oauth.accounts import OF_ITS_BEGINNER
from catalog.servers.oauth.authorization_client import OAuthHttp, SignInError
from catalog.servers.oauth.tokens import exchange_code, scope_to_ask, store_token
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from catalog.servers.secrets.sealed_values import seal, unseal
from catalog.servers.secrets.store import forget_sign_in_problem

State = OAuthSignIn.State
_KNOWN = (SignInError, OutgoingError, SecretUnavailableError)


def prepare(pk: int, http: OAuthHttp | None = None) -> None:
    """Discover the authorization server and build the authorization URL."""
    http = http or OAuthHttp()
    rows = OAuthSignIn.objects.select_related("integration")
    row = rows.filter(pk=pk, state=State.PREPARING).first()
    if row is None or row.is_over:
        return
    try:
        _require_confirmed(row)
        endpoints = (
            discover_api(row.integration, http)
            if row.integration.transport == "openapi"
            else discover(row.integration.endpoint, http)
        )
        scope = scope_to_ask(row.integration, row.user_id, endpoints.scope)
        endpoints = replace(endpoints, scope=scope)
        client = client_for(row.integration, endpoints, row.redirect_uri, http)
    except _KNOWN as problem:
        _fail(row, problem)
        return
    pkce = PKCEParameters.generate()
    move(
        row,
        State.WAITING,
        authorization_url=_authorization_url(row, endpoints, client, pkce.code_challenge),
        details=_details(row, endpoints),
        sealed_verifier=seal(pkce.code_verifier, purpose=row.purpose),
    )


def finish(pk: int, http: OAuthHttp | None = None) -> bool:
    """Exchange the code for a token; return True if an account is connected now.

    The code is removed from the row first, so a second worker finds none.
    """
    http = http or OAuthHttp()
    row, sealed_code = _claim_code(pk)
    if row is None:
        return False
    try:
        _require_confirmed(row)
        code, issuer = json.loads(unseal(sealed_code, purpose=row.purpose))
        verifier = unseal(bytes(row.sealed_verifier), purpose=row.purpose)
        # Refuse a code from another issuer (RFC 9207).
        if issuer and issuer != row.details["issuer"]:
            raise SignInError("wrong_issuer")
        if not issuer and row.details["tells_issuer"]:
            raise SignInError("wrong_issuer")
        client = client_at(row.integration, row.details["issuer"])
        token = exchange_code(row.details, client, code=code, verifier=verifier, http=http)
    except _KNOWN as problem:
        _fail(row, problem)
        return False
    with transaction.atomic():
        connection, _ = OAuthConnection.objects.update_or_create(
            integration=row.integration,
            user=row.user,
            defaults={
                name: row.details[name]
                for name in ("endpoint", "issuer", "token_endpoint", "resource", "scope")
            }
            # Sign-ins begun before an upgrade do not have it.
            | {"revocation_endpoint": row.details.get("revocation_endpoint", "")}
            | {"asked_scope": row.details["scope"], "wanted_scope": ""},
        )
        store_token(connection, token)
        forget_sign_in_problem(row.integration)
        move(
            row, State.DONE, sealed_verifier=b"", message=gettext_noop("The account is connected.")
        )
        details = {
            "issuer": row.details["issuer"],
            "for": (row.user.get_username() if row.user else "everyone"),
        }
        record(by=row.by, action="account.connect", target=row.integration.slug, details=details)
    return True


def _require_confirmed(row: OAuthSignIn) -> None:
    """Refuse unconfirmed imports: nothing is sent to them."""
    if row.integration.unconfirmed:
        raise SignInError("not_confirmed")


@transaction.atomic
def _claim_code(pk: int) -> tuple[OAuthSignIn | None, bytes]:
    rows = OAuthSignIn.objects.select_for_update(of=("self",)).select_related("integration", "by")
    row = rows.filter(OF_ITS_BEGINNER, pk=pk, state=State.FINISHING).first()
    if row is None or row.is_over or not row.sealed_code:
        return None, b""
    sealed_code = bytes(row.sealed_code)
    OAuthSignIn.objects.filter(pk=pk).update(sealed_code=b"")
    return row, sealed_code


def _authorization_url(
    row: OAuthSignIn, endpoints: OAuthEndpoints, client: Client, challenge: str
) -> str:
    """Build the URL without `state`, which the person's session adds: no row stores it."""
    params = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": row.redirect_uri,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        # Of APIs none is known, and some authorization servers refuse the parameter.
        **({"resource": endpoints.resource} if endpoints.resource else {}),
    }
    if endpoints.scope:
        params["scope"] = endpoints.scope
    url = httpx2.URL(str(endpoints.metadata.authorization_endpoint))
    return str(url.copy_remove_param("state").copy_merge_params(params))


def _details(row: OAuthSignIn, endpoints: OAuthEndpoints) -> dict[str, object]:
    tells = endpoints.metadata.authorization_response_iss_parameter_supported
    return {
        "endpoint": row.integration.endpoint,
        "issuer": endpoints.issuer,
        "resource": endpoints.resource,
        "scope": endpoints.scope[:2000],
        "redirect_uri": row.redirect_uri,
        "token_endpoint": str(endpoints.metadata.token_endpoint),
        "revocation_endpoint": str(endpoints.metadata.revocation_endpoint or ""),
        "tells_issuer": bool(tells),
    }


def _fail(row: OAuthSignIn, problem: Exception) -> None:
    move(row, State.FAILED, message=str(problem), sealed_verifier=b"", sealed_code=b"")


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
