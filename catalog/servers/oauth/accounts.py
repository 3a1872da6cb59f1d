"""Accounts at servers by OAuth, as requested by people. Workers send the requests."""

import json
from hashlib import sha256
from secrets import token_urlsafe

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from acl.audit.recorder import record
from acl.platform.database_work import database_now
from acl.platform.task_names import FINISH_SIGN_IN, PREPARE_SIGN_IN, REVOKE_TOKEN, send_on_commit
from catalog.models import (
    Integration,
    OAuthClient,
    OAuthConnection,
    OAuthRevocation,
    OAuthSignIn,
    Secret,
)
from catalog.models.oauth_tables import CLIENT, SIGN_IN_LASTS, TOKEN
from catalog.servers.secrets.sealed_values import seal

State = OAuthSignIn.State
# Per person and lifetime of a sign-in, because each one sends requests to third parties.
MAX_CONCURRENT = 20
# Whoever began it may finish it: the shared account is an admin's to give.
OF_ITS_BEGINNER = Q(by__is_active=True) & (Q(user=F("by")) | Q(by__is_staff=True))
_MOST_OF_CODE = 8_000


class CannotSignInError(Exception):
    """The server does not support sign-in, or its address is incomplete."""


@transaction.atomic
def begin_sign_in(
    *, by: User, integration: Integration, user: User | None, redirect_uri: str
) -> tuple[OAuthSignIn, str]:
    """Begin a sign-in for `user`, or for everyone; return it with the session's `state`."""
    if not integration.takes_accounts or "${" in integration.endpoint:
        raise CannotSignInError(
            _("This integration does not support sign-in. Set its secrets instead.")
        )
    if integration.unconfirmed:
        raise CannotSignInError(
            _("This integration was imported and is not confirmed yet. An admin must confirm it.")
        )
    recent = OAuthSignIn.objects.filter(by=by, created_at__gt=database_now() - SIGN_IN_LASTS)
    if recent.count() >= MAX_CONCURRENT:
        raise CannotSignInError(_("Too many sign-ins started. Try again in ten minutes."))
    state = token_urlsafe(32)
    sign_in = OAuthSignIn.objects.create(
        integration=integration,
        user=user,
        by=by,
        # Only the digest is stored: a database leak must not complete a sign-in.
        ticket_digest=_digest(state),
        redirect_uri=redirect_uri,
        message=gettext_noop("Asking the server where to sign in"),
    )
    details = {"for": user.get_username() if user else "everyone"}
    record(by=by, action="account.sign_in", target=integration.slug, details=details)
    send_on_commit(PREPARE_SIGN_IN, sign_in.pk)
    return sign_in, state


@transaction.atomic
def accept_callback(
    *, by: User, state: str, code: str, issuer: str = "", error: str = ""
) -> OAuthSignIn | None:
    """Process the authorization server's callback; None if no sign-in matches.

    A `state` is valid once, and only for the person who began.
    """
    rows = OAuthSignIn.objects.select_for_update(of=["self"]).filter(OF_ITS_BEGINNER, by=by)
    sign_in = rows.filter(ticket_digest=_digest(state), state=State.WAITING).first()
    if sign_in is None or sign_in.is_over:
        return None
    if error or not code or len(code) > _MOST_OF_CODE:
        sign_in.state, sign_in.sealed_verifier = State.FAILED, b""
        sign_in.message = gettext_noop(
            "Sign-in failed: the authorization server sent no code. Try again."
        )
    else:
        sign_in.state, sign_in.message = State.FINISHING, gettext_noop("Requesting a token")
        sign_in.sealed_code = seal(json.dumps([code, issuer]), purpose=sign_in.purpose)
        send_on_commit(FINISH_SIGN_IN, sign_in.pk)
    sign_in.save()
    return sign_in


def find_account(integration: Integration, user: User | None) -> OAuthConnection | None:
    """Return the account of a person, or the shared one."""
    return OAuthConnection.objects.filter(integration=integration, user=user).first()


@transaction.atomic
def forget_account(*, by: User, integration: Integration, user: User | None) -> bool | None:
    """Delete an account and its token.

    Return None if there was no account, and True if a worker revokes the token at the server.
    """
    rows = OAuthConnection.objects.select_for_update(of=("self",))  # a worker may be renewing it
    gone = rows.filter(integration=integration, user=user).first()
    if gone is None:
        return None
    gone.delete()
    token = Secret(integration=integration, user=user, name=TOKEN)
    Secret.objects.filter(integration=integration, user=user, name=TOKEN).delete()
    details = {"for": user.get_username() if user else "everyone"}
    record(by=by, action="account.forget", target=integration.slug, details=details)
    return OAuthRevocation.objects.filter(token_purpose=token.purpose).exists()


@transaction.atomic
def set_client(*, by: User, integration: Integration, client_id: str, client_secret: str) -> None:
    """Store an OAuth client for a server without dynamic registration.

    It is bound to the issuer it is first used at.
    """
    OAuthClient.objects.update_or_create(
        integration=integration,
        defaults={"client_id": client_id, "issuer": "", "redirect_uri": "", "by_hand": True},
    )
    Secret.objects.filter(integration=integration, user=None, name=CLIENT).delete()
    if client_secret:
        row = Secret(integration=integration, user=None, name=CLIENT)
        row.sealed = seal(json.dumps({"secret": client_secret}), purpose=row.purpose)
        row.save()
    details = {"client_id": client_id, "with_secret": bool(client_secret)}
    record(by=by, action="account.client", target=integration.slug, details=details)


def _digest(state: str) -> str:
    return sha256(state.encode()).hexdigest()


def store_revocation(sender: type[OAuthConnection], instance: OAuthConnection, **_: object) -> None:
    """Store a token's revocation request before its account is deleted.

    Only workers decrypt secrets, so the row keeps them sealed. Nothing is stored if the server has
    no revocation endpoint or the client belongs to another issuer by now.
    """
    secrets = Secret.objects.filter(integration=instance.integration_id)
    token = secrets.filter(user=instance.user_id, name=TOKEN).first()
    clients = OAuthClient.objects.filter(integration=instance.integration_id)
    client = clients.filter(issuer=instance.issuer).first()
    if not instance.revocation_endpoint or token is None or client is None:
        return
    proof = secrets.filter(user=None, name=CLIENT).first()
    row = OAuthRevocation.objects.create(
        endpoint=instance.revocation_endpoint,
        client_id=client.client_id,
        auth_method=client.auth_method or "none",
        sealed_token=bytes(token.sealed),
        token_purpose=token.purpose,
        sealed_client=bytes(proof.sealed) if proof else b"",
        client_purpose=proof.purpose if proof else "",
    )
    send_on_commit(REVOKE_TOKEN, row.pk)
